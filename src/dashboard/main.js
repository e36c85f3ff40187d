// Which page is on the screen. The address after `#` names it: #/node/NAME?q=…

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const decode = (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  return {parts: path.split('/').map(decode), query: Object.fromEntries(new URLSearchParams(query ?? ''))};
}

const PAGES = {'': overview, nodes: nodesPage, pods: podsPage, policy: policyPage, node: nodePage, gpu: gpuPage, pod: podPage};
const noPage = () => notThere('Page', 'The dashboard has no page of this name.');
const pageOf = ({parts}) => (Object.hasOwn(PAGES, parts[0]) ? PAGES[parts[0]] : noPage);

/** Changes keys of the query without a step in the browser's history. */
function changeQuery(change) {
  const {parts, query} = route();
  const changed = {...query, ...('page' in change ? {} : {page: ''}), ...change};
  history.replaceState(null, '', address(parts, changed));
  update();
}

let shownPath = null;

function showStatus() {
  const standby = store.ready.ok && store.ready.text !== 'ok' && store.ready.text !== '';
  const [state, text] = store.refusal ? ['bad', 'no access'] : store.failure ? ['bad', 'not reachable'] : store.readAt === null ? ['', 'connecting'] :
    !store.ready.ok ? ['bad', 'not ready'] : standby ? ['standby', 'standby'] : ['live', 'live'];
  const status = document.getElementById('status');
  if (status.textContent !== text) status.textContent = text;
  status.dataset.state = state;
  const banner = document.getElementById('banner');
  const sentence = store.refusal ? `Snug shows nothing: ${store.refusal}.` : store.failure ? `Snug cannot be reached (${store.failure}).${store.readAt ? ` What you see is of ${clock(store.readAt / 1000)}.` : ''} Trying again every two seconds.` :
    !store.ready.ok ? `Snug does not decide at the moment: ${store.ready.text}` : standby ? `This Snug is a standby: ${store.ready.text.replace(/^ok: /, '')}` : '';
  if (banner.textContent !== sentence) banner.textContent = sentence;
  banner.dataset.state = state;
  banner.hidden = !sentence;
  document.getElementById('token').hidden = !store.refusal;
}

/** Shows what is known now. */
function update() {
  showStatus();
  if (store.readAt === null) return;
  const where = route();
  const page = pageOf(where)(where);
  const main = document.getElementById('main');
  const path = where.parts.join('/');
  const body = h('div', {class: where.parts[0] ? 'stack' : ''}, page.body);
  if (path === shownPath) {
    morph(main.firstElementChild, body);
  } else {
    main.replaceChildren(body);
    document.title = `${page.title} · Snug`;
    for (const item of document.querySelectorAll('nav a')) {
      const target = item.getAttribute('href').slice(2);
      if (target === where.parts[0] || target === `${where.parts[0]}s`) item.setAttribute('aria-current', 'page');
      else item.removeAttribute('aria-current');
    }
    if (shownPath !== null) {
      scrollTo(0, 0);
      main.querySelector('h1')?.focus({preventScroll: true});
    }
    shownPath = path;
  }
  page.after?.();
}

function wanted() {
  const where = route();
  return pageOf(where)(where).need ?? {path: null};
}

addEventListener('hashchange', () => {
  if (location.hash === '#main') return;
  update();
  poll();
});
document.getElementById('token').addEventListener('submit', (event) => {
  event.preventDefault();
  useToken(new FormData(event.target).get('token'));
  event.target.reset();
  poll();
});
readPalette();
startPolling(wanted, update);
// For the tests, and for whoever looks into the page with a debugger.
window.snug = {store, polling, map: theMap};
