// Elements are made by these functions alone and never from markup in a text, so that whatever a
// name or a sentence from the cluster contains is shown and not interpreted.

const SVG = 'http://www.w3.org/2000/svg';
const HANDLERS = ['onclick', 'oninput', 'onchange', 'onpointermove', 'onpointerleave', 'ontoggle'];

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'style') Object.assign(element.style, value);
    else if (HANDLERS.includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  if (attributes?.value !== undefined) element.value = attributes.value;
  return element;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Makes `current` equal to `wanted` with as few changes as possible, so that focus, selection and
 * scroll positions survive an update. An element with `data-own` looks after itself. */
function morph(current, wanted) {
  if (current.nodeName !== wanted.nodeName || current.id !== wanted.id) {
    current.replaceWith(wanted);
    return;
  }
  if (current.nodeType === Node.TEXT_NODE) {
    if (current.data !== wanted.data) current.data = wanted.data;
    return;
  }
  if (wanted.dataset.own !== undefined) return;
  for (const {name} of [...current.attributes]) {
    if (!wanted.hasAttribute(name) && name !== 'style' && name !== 'open') current.removeAttribute(name);
  }
  for (const {name, value} of wanted.attributes) {
    if (name !== 'style' && current.getAttribute(name) !== value) current.setAttribute(name, value);
  }
  if (current.style.cssText !== wanted.style.cssText) current.style.cssText = wanted.style.cssText;
  for (const name of HANDLERS) current[name] = wanted[name];
  morphChildren(current, wanted);
  if ('value' in wanted && current !== document.activeElement && current.value !== wanted.value) {
    current.value = wanted.value;
  }
}

function morphChildren(current, wanted) {
  const children = [...wanted.childNodes];
  while (current.childNodes.length > children.length) current.lastChild.remove();
  children.forEach((child, i) => {
    const existing = current.childNodes[i];
    if (existing) morph(existing, child);
    else current.append(child);
  });
}
