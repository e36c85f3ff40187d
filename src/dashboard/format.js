// Amounts as text, addresses of pages, and small pieces that several pages have.

const number = new Intl.NumberFormat('en', {maximumFractionDigits: 2});
const count = (amount) => number.format(amount);
const plural = (amount, one, many = one + 's') => `${count(amount)} ${amount === 1 ? one : many}`;

function memory(mib) {
  if (mib === 0) return '0';
  if (mib < 1024) return `${count(mib)} MiB`;
  const [amount, unit] = mib < 1000 * 1024 ? [mib / 1024, 'GiB'] : [mib / 1024 / 1024, 'TiB'];
  return `${count(amount < 10 ? Math.round(amount * 100) / 100 : amount < 100 ? Math.round(amount * 10) / 10 : Math.round(amount))} ${unit}`;
}

/** Milli-GPU as GPUs: 1250 → 1.25, and from 100 GPUs on without decimals. */
const gpus = (milli) => count(milli < 100000 ? Math.round(milli / 10) / 100 : Math.round(milli / 1000));
const ratio = (part, whole) => (whole > 0 ? part / whole : 0);

/** Never 0 % for something, and never 100 % for less than everything. */
function percent(fraction) {
  const rounded = Math.round(fraction * 100);
  if (rounded === 0 && fraction > 0) return '< 1 %';
  if (rounded >= 100 && fraction < 1) return '> 99 %';
  return `${rounded} %`;
}

const clock = (seconds) =>
  new Date(seconds * 1000).toLocaleTimeString([], {hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});

/** A word of the address, if it is a key of `rows`; otherwise another key. */
const keyOf = (rows, word, otherwise) => (Object.hasOwn(rows, word ?? '') ? word : otherwise);

function address(parts, query = {}) {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
  return '#/' + parts.map(encodeURIComponent).join('/') + (text ? '?' + text : '');
}
const nodeAddress = (node) => address(['node', node]);
const podAddress = (pod) => address(['pod', pod.namespace, pod.pod]);
/** A GPU that has vanished from the inventory can have the index of another one. */
function gpuAddress(node, gpu) {
  const twins = node.gpus.filter((other) => other.index === gpu.index).length > 1;
  return address(['gpu', node.name, gpu.index], twins ? {uuid: gpu.uuid} : {});
}

const link = (where, ...text) => h('a', {href: where}, ...text);
const podLink = (pod) => link(podAddress(pod), `${pod.namespace}/${pod.pod}`);
const chip = (text, tone = '') => h('span', {class: `chip ${tone}`}, text);
const facts = (...rows) => h('dl', {class: 'facts'}, rows.filter(Boolean).map(
  ([name, ...value]) => h('div', {}, h('dt', {}, name), h('dd', {}, ...value))));
const callout = (tone, ...children) => h('div', {class: `callout ${tone}`}, ...children);
const empty = (title, ...text) => h('p', {class: 'empty'}, h('strong', {}, title), ...text);
const meter = (fraction) =>
  h('span', {class: 'meter'}, h('span', {style: {width: `${Math.min(1, fraction) * 100}%`}}));

/** columns: [title, class]; rows: arrays of cells, the first of which is the row's heading. */
function table(caption, columns, rows) {
  return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
    h('table', {}, h('caption', {}, caption),
      h('thead', {}, h('tr', {}, columns.map(([title, kind]) => h('th', {scope: 'col', class: kind}, title)))),
      h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell, i) => (i === 0
        ? h('th', {scope: 'row'}, cell)
        : h('td', {class: columns[i][1]}, cell))))))));
}
