// Colours. They come from the style sheet, so that they follow the theme.

const POD_COLOURS = 8;
let palette = {};

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const names = ['ink', 'muted', 'card', 'line', 'line-strong', 'free', 'other', 'hatch', 'on-fill', 'accent', 'good', 'warn', 'bad',
    ...Array.from({length: POD_COLOURS}, (_, i) => `pod-${i}`), ...[0, 1, 2, 3, 4].map((i) => `fill-${i}`)];
  palette = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  palette.dark = matchMedia('(prefers-color-scheme: dark)').matches;
}

/** Past the eighth colour, which needs a pod with more than seven neighbours, hues are computed. */
function podColour(index) {
  if (index < POD_COLOURS) return palette[`pod-${index}`];
  return `oklch(${palette.dark ? 0.5 : 0.8} .07 ${(index * 137.5) % 360})`;
}

function hash(text) {
  let value = 2166136261;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

/** For each pod of the node: the pods that touch it on a tile or across the edge of two tiles, which
 * must not have its colour, and those that are only near, which should not. */
function neighboursOf(tiles) {
  const touching = new Map();
  const near = new Map();
  const join = (sets, a, b) => {
    if (a === b) return;
    for (const [one, other] of [[a, b], [b, a]]) {
      if (!sets.has(one)) sets.set(one, new Set());
      sets.get(one).add(other);
    }
  };
  let last = [];
  for (const tile of tiles) {
    const uids = tile.segments.filter((segment) => segment.kind === 'pod').map((segment) => segment.uid);
    for (const uid of uids) {
      if (!touching.has(uid)) touching.set(uid, new Set());
      for (const other of [...uids, ...last]) join(near, uid, other);
    }
    for (let i = 1; i < uids.length; ++i) join(touching, uids[i - 1], uids[i]);
    if (uids.length > 0 && last.length > 0) join(touching, last.at(-1), uids[0]);
    last = uids;
  }
  return {touching, near};
}

function firstFree(uid, taken, avoided) {
  const start = hash(uid) % POD_COLOURS;
  const inOrder = Array.from({length: POD_COLOURS}, (_, i) => (start + i) % POD_COLOURS);
  const free = inOrder.find((colour) => !taken.has(colour) && !avoided.has(colour)) ??
    inOrder.find((colour) => !taken.has(colour));
  if (free !== undefined) return free;
  let more = POD_COLOURS;
  while (taken.has(more)) ++more;
  return more;
}

/** {uid: number of its colour} of the node's pods. Neighbours differ; a pod keeps its colour from
 * `before` unless a new neighbour has it. */
function colourPods(tiles, before = new Map()) {
  const {touching, near} = neighboursOf(tiles);
  const colours = new Map();
  const of = (uids) => new Set([...(uids ?? [])].map((uid) => colours.get(uid)));
  const uids = [...touching.keys()];
  for (const uid of uids.filter((known) => before.has(known))) {
    if (!of(touching.get(uid)).has(before.get(uid))) colours.set(uid, before.get(uid));
  }
  for (const uid of uids.filter((other) => !colours.has(other))) {
    colours.set(uid, firstFree(uid, of(touching.get(uid)), of(near.get(uid))));
  }
  return colours;
}

function podColours(node) {
  if (!node.colours) {
    node.colours = colourPods(tilesOf(node), node.before?.colours);
    node.before = undefined;
  }
  return node.colours;
}

/** The first eight namespaces get a colour and keep it; the others share one. */
const namespaces = new Map();
function namespaceColour(name) {
  const index = namespaces.get(name);
  return index === undefined ? palette.other : palette[`pod-${index}`];
}
function chooseNamespaces(cluster) {
  const rows = [...(cluster?.namespaces ?? [])].sort((a, b) => b.computeMilli - a.computeMilli);
  for (const {namespace} of rows) {
    if (namespaces.size < POD_COLOURS && !namespaces.has(namespace)) namespaces.set(namespace, namespaces.size);
  }
}

const MODE_COLOURS = {whole: 'pod-0', 'time-slicing': 'pod-2', mps: 'pod-5', mig: 'pod-7', kubelet: 'other'};
const STATE_COLOURS = {open: 'pod-2', closed: 'pod-1', unhealthy: 'pod-3'};
const fillColour = (fill) => palette[`fill-${fill >= 1 ? 4 : Math.min(3, Math.floor(fill * 4))}`];

/** What the map can be coloured by: [name, colour of a segment]. */
const COLOUR_BY = {
  pod: ['Pod', (tile, segment) => podColour(podColours(tile.node).get(segment.uid))],
  fill: ['Fill', (tile) => fillColour(tile.fill)],
  mode: ['Mode', (tile) => palette[MODE_COLOURS[tile.mode] ?? 'other']],
  health: ['Health', (tile) => palette[STATE_COLOURS[tile.state]]],
  namespace: ['Namespace', (tile, segment) => namespaceColour(segment.namespace)],
};

function swatch(colour, kind = '') {
  return h('span', {class: `swatch ${kind}`, style: colour ? {background: colour} : {}});
}

function legend(by) {
  const rows = {
    pod: [],
    fill: [['below 25 %', 'fill-0'], ['25 %', 'fill-1'], ['50 %', 'fill-2'], ['75 %', 'fill-3'], ['full', 'fill-4']],
    mode: [['whole', 'pod-0'], ['time-slicing', 'pod-2'], ['MPS', 'pod-5'], ['MIG slices', 'pod-7']],
    health: [['open', 'pod-2'], ['closed', 'pod-1'], ['unhealthy', 'pod-3']],
    namespace: [...namespaces].map(([name, index]) => [name, `pod-${index}`]),
  }[by].map(([name, colour]) => h('li', {}, swatch(palette[colour]), name));
  if (by === 'namespace' && (store.cluster?.namespaces.length ?? 0) > namespaces.size) {
    rows.push(h('li', {}, swatch(palette.other), 'others'));
  }
  if (by === 'pod') rows.push(h('li', {}, swatch(podColour(0)), swatch(podColour(1)), swatch(podColour(2)),
    'one colour for each pod, as wide as its share of the memory'));
  return h('ul', {class: 'legend', 'aria-label': 'Legend'}, rows,
    h('li', {}, swatch(palette.free), 'free'),
    h('li', {}, swatch('', 'hatched'), 'closed'),
    h('li', {}, swatch('', 'outline'), 'slice without a pod'),
    h('li', {}, swatch('', 'dotted'), 'by the kubelet'));
}
