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

const COLUMNS = 4; // of tiles in a node's card

/** For each pod of the node: the pods that touch it on a tile or across the edge of two tiles, which
 * must not have its colour, and how often others are near, which should not. */
function neighboursOf(tiles) {
  const touching = new Map();
  const near = new Map();
  const join = (a, b) => {
    if (a === b) return;
    touching.get(a).add(b);
    touching.get(b).add(a);
  };
  const uidsOf = (tile) => tile?.segments.filter(({kind}) => kind === 'pod').map(({uid}) => uid) ?? [];
  tiles.forEach((tile, i) => {
    const uids = uidsOf(tile);
    const left = uidsOf(tiles[i - 1]);
    const around = [...uids, ...left, ...uidsOf(tiles[i + 1]), ...uidsOf(tiles[i - COLUMNS]), ...uidsOf(tiles[i + COLUMNS])];
    for (const uid of uids) {
      if (!touching.has(uid)) touching.set(uid, new Set());
      near.set(uid, [...(near.get(uid) ?? []), ...around]);
    }
    for (let k = 1; k < uids.length; ++k) join(uids[k - 1], uids[k]);
    if (uids.length > 0 && left.length > 0) join(left.at(-1), uids[0]);
  });
  return {touching, near};
}

/** The colour that is rarest nearby, of those that no neighbour has; among equals, the uid decides. */
function chooseColour(uid, taken, nearby) {
  const start = hash(uid) % POD_COLOURS;
  const uses = new Uint16Array(POD_COLOURS);
  for (const colour of nearby) if (colour < POD_COLOURS) ++uses[colour];
  let best = -1;
  for (let i = 0; i < POD_COLOURS; ++i) {
    const colour = (start + i) % POD_COLOURS;
    if (!taken.has(colour) && (best < 0 || uses[colour] < uses[best])) best = colour;
  }
  if (best >= 0) return best;
  let more = POD_COLOURS;
  while (taken.has(more)) ++more;
  return more;
}

/** {uid: number of its colour} of the node's pods. Neighbours differ; a pod keeps its colour from
 * `before` unless a new neighbour has it. */
function colourPods(tiles, before = new Map()) {
  const {touching, near} = neighboursOf(tiles);
  const colours = new Map();
  const of = (uids) => [...uids].map((uid) => colours.get(uid));
  const uids = [...touching.keys()];
  for (const uid of uids.filter((known) => before.has(known))) {
    if (!of(touching.get(uid)).includes(before.get(uid))) colours.set(uid, before.get(uid));
  }
  for (const uid of uids.filter((other) => !colours.has(other))) {
    colours.set(uid, chooseColour(uid, new Set(of(touching.get(uid))), of(near.get(uid))));
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
    'pods, by their share of the memory'));
  if (by === 'health') return h('ul', {class: 'legend', 'aria-label': 'Legend'}, rows);
  return h('ul', {class: 'legend', 'aria-label': 'Legend'}, rows,
    h('li', {}, swatch(palette.free), 'free'),
    h('li', {}, swatch('', 'hatched'), 'closed'),
    h('li', {}, swatch('', 'outline'), 'slice without a pod'),
    h('li', {}, swatch('', 'dotted'), 'by the kubelet'));
}
