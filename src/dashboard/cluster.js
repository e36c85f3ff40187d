// What Snug has told so far, and when it is asked again. While the page is hidden nobody asks.

const POLL_MS = 2000;
// A reply that is slow to make is read again after this many times the time that it took.
const PATIENCE = 20;

const store = {
  nodes: new Map(), // name → node of /v1/nodes
  names: [], // sorted as bytes
  version: '', // of `nodes`
  generation: null, // of the ledger, for which `nodes` is true; null: ask in any case
  cluster: null, // /v1/cluster
  history: null, // /v1/history
  ready: {ok: true, text: ''}, // /readyz
  failure: '', // why the last poll failed
  refusal: '', // what Snug says if it wants a token, or one of another user
  readAt: null, // when the last one succeeded
  page: {path: null}, // what the page on the screen needs in addition: path, status, value
  changes: 0, // counts changes of all this
};

/** Notes a change if `text` is not what it was last time. */
const lastTexts = {};
function noteText(what, text) {
  if (lastTexts[what] === text) return false;
  lastTexts[what] = text;
  ++store.changes;
  return true;
}

// The token goes with the tab.
const TOKEN = 'snug-token';
function useToken(token) {
  sessionStorage.setItem(TOKEN, token.trim());
}

async function ask(path) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = {Accept: 'application/json', ...(token && {Authorization: `Bearer ${token}`})};
  const reply = await fetch(path, {cache: 'no-store', headers});
  const text = await reply.text();
  if (reply.status === 401 || reply.status === 403) throw Object.assign(new Error(text), {refusal: JSON.parse(text).Error});
  try {
    return {status: reply.status, text, value: JSON.parse(text)};
  } catch {
    return {status: reply.status, text, value: {Error: text.trim() || `status ${reply.status}`}};
  }
}

async function readReadiness() {
  const reply = await fetch('readyz', {cache: 'no-store'});
  store.ready = {ok: reply.ok, text: (await reply.text()).trim()};
  noteText('ready', `${reply.status} ${store.ready.text}`);
}

async function readCluster() {
  const {status, text, value} = await ask('v1/cluster');
  if (noteText('cluster', text)) store.cluster = status === 200 ? value : null;
}

const byBytes = (a, b) => (a < b ? -1 : Number(a > b));

/** Applies a reply of /v1/nodes?since=…; false: nodes were deleted, so all must be read again. */
function applyNodes(reply) {
  const before = store.nodes;
  if (reply.complete) store.nodes = new Map();
  let added = reply.complete;
  for (const node of reply.nodes) {
    node.before = before.get(node.name); // whose colours its pods keep
    if (node.before) node.before.before = undefined;
    added ||= !store.nodes.has(node.name);
    store.nodes.set(node.name, node);
  }
  if (added) store.names = [...store.nodes.keys()].sort(byBytes);
  if (reply.complete || reply.nodes.length > 0) ++store.changes;
  store.version = reply.version;
  store.generation = reply.generation;
  return store.nodes.size === reply.total;
}

async function readNodes() {
  for (;;) {
    const {status, value} = await ask(`v1/nodes?since=${encodeURIComponent(store.version)}`);
    if (status !== 200) throw new Error(value.Error);
    if (applyNodes(value)) return;
    store.version = '';
  }
}

async function readHistory() {
  // Twice for each of its points. The clocks of Snug and of this machine may differ.
  if (store.history && performance.now() - store.historyAt < 500 * store.history.intervalSeconds) return;
  const {status, text, value} = await ask('v1/history');
  store.historyAt = performance.now();
  if (noteText('history', text)) store.history = status === 200 ? value : {intervalSeconds: 60, points: []};
}

/** Reads what the page on the screen needs: again when `stamp` has changed. */
async function readForPage({path, stamp}) {
  const known = store.page;
  const same = known.path === path;
  if (!path) {
    store.page = {path};
    return;
  }
  if (same && known.stamp === stamp) return;
  if (same && performance.now() - known.at < PATIENCE * known.took) return;
  const began = performance.now();
  const reply = await ask(path);
  ++store.changes;
  store.page = {path, stamp, ...reply, at: performance.now(), took: performance.now() - began};
}

const polling = {timer: 0, running: false, again: false, wanted: () => ({path: null}), done: () => {}};

async function readAll() {
  const first = store.generation === null;
  await Promise.all([readReadiness(), readCluster(), readHistory(), first ? readNodes() : null]);
  if (!first && store.cluster?.generation !== store.generation) await readNodes();
  await readForPage(polling.wanted());
}

/** Asks now, and then every POLL_MS while the page is visible. */
async function poll() {
  clearTimeout(polling.timer);
  polling.timer = 0;
  polling.again = polling.running;
  if (polling.running) return;
  polling.running = true;
  const before = store.changes;
  try {
    await readAll();
    store.refusal = '';
    noteText('failure', store.failure = '');
    store.readAt = new Date();
  } catch (error) {
    store.refusal = error.refusal ?? '';
    noteText('failure', store.failure = error.message);
    store.generation = null;
  }
  polling.running = false;
  try {
    if (store.changes !== before) polling.done();
  } finally {
    if (polling.again) poll();
    else if (!document.hidden) polling.timer = setTimeout(poll, POLL_MS);
  }
}

function startPolling(wanted, done) {
  Object.assign(polling, {wanted, done});
  document.addEventListener('visibilitychange', () => {
    clearTimeout(polling.timer);
    polling.timer = 0;
    if (!document.hidden) poll();
  });
  poll();
}
