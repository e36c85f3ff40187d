// The history: three lines in percent over the hours that Snug remembers.

const LINES = [
  ['compute', 'Compute', (point) => ratio(point.usedComputeMilli, point.computeMilli)],
  ['memory', 'Memory', (point) => ratio(point.usedMemoryMiB, point.memoryMiB)],
  ['fragmented', 'Fragmented', (point) => ratio(point.fragmentedMilli, point.computeMilli)],
];
const PLOT = {left: 38, right: 6, top: 8, bottom: 20, height: 150};

/** Times of the marks on the time axis: full hours, or parts of one where there is less. */
function timeMarks(from, to, most) {
  const step = [300, 600, 900, 1800, 3600, 7200].find((seconds) => (to - from) / seconds <= most) ?? 14400;
  const marks = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) marks.push(time);
  return marks;
}

function pathOf(points, x, y) {
  return points.map((point, i) => `${i ? 'L' : 'M'}${x(point).toFixed(1)} ${y(point).toFixed(1)}`).join('');
}

function chartOf(points, width, chosen) {
  const [from, to] = [points[0].time, points.at(-1).time];
  const inner = width - PLOT.left - PLOT.right;
  const x = (time) => PLOT.left + (inner * (time - from)) / Math.max(1, to - from);
  const y = (fraction) => PLOT.top + (PLOT.height - PLOT.top - PLOT.bottom) * (1 - Math.min(1, fraction));
  const latest = points.at(-1);
  const summary = `Over ${plural(Math.max(1, Math.round((to - from) / 60)), 'minute')}. At the end: ` +
    LINES.map(([, name, value]) => `${name.toLowerCase()} ${percent(value(latest))}`).join(', ');
  return s('svg', {
    class: 'chart', role: 'img', 'aria-label': summary, viewBox: `0 0 ${width} ${PLOT.height}`,
    onpointermove: (event) => pointAt(event, points, inner), onpointerleave: () => pointAt(null),
  },
  [0, 0.5, 1].map((mark) => [
    s('line', {class: 'grid', x1: PLOT.left, x2: width - PLOT.right, y1: y(mark), y2: y(mark)}),
    s('text', {x: PLOT.left - 6, y: y(mark) + 4, 'text-anchor': 'end'}, `${mark * 100} %`),
  ]),
  timeMarks(from, to, Math.floor(inner / 60)).map((time) =>
    s('text', {x: x(time), y: PLOT.height - 4, 'text-anchor': 'middle'}, clock(time))),
  LINES.map(([name, , value]) => s('path', {
    d: pathOf(points, (point) => x(point.time), (point) => y(value(point))), stroke: `var(--line-${name})`,
  })),
  chosen && s('line', {class: 'cursor', x1: x(chosen.time), x2: x(chosen.time), y1: PLOT.top, y2: PLOT.height - PLOT.bottom}));
}

let chosenTime = null;
function pointAt(event, points, inner) {
  if (!event) {
    chosenTime = null;
  } else {
    const box = event.currentTarget.getBoundingClientRect();
    const at = (event.clientX - box.left - PLOT.left) / inner;
    chosenTime = points[Math.max(0, Math.min(points.length - 1, Math.round(at * (points.length - 1))))].time;
  }
  update();
}

function historyTable(points) {
  const every = Math.max(1, Math.ceil(points.length / 24));
  const rows = points.filter((_, i) => (points.length - 1 - i) % every === 0).reverse();
  return h('details', {}, h('summary', {}, 'As a table'),
    table('History', [['Time'], ...LINES.map(([, name]) => [name, 'number']), ['Waiting', 'number']],
      rows.map((point) => [clock(point.time), ...LINES.map(([, , value]) => percent(value(point))), count(point.pendingPods)])));
}

function historyCard(width) {
  const points = store.history?.points ?? [];
  const heading = h('h2', {class: 'row'}, h('span', {}, 'Allocation, fragmentation'));
  if (points.length < 2) {
    return h('section', {class: 'card'}, heading,
      h('p', {class: 'muted small', style: {minHeight: '190px'}}, 'A point is added every minute, and the lines begin with the second. They begin anew when Snug is restarted.'));
  }
  const chosen = points.find((point) => point.time === chosenTime);
  const shown = chosen ?? points.at(-1);
  heading.append(h('span', {class: 'muted'}, chosen ? clock(chosen.time) : 'now'));
  return h('section', {class: 'card'}, heading,
    h('ul', {class: 'legend', 'aria-label': 'Values'}, LINES.map(([name, title, value]) => h('li', {},
      h('span', {class: 'key', style: {background: `var(--line-${name})`}}), `${title} ${percent(value(shown))}`))),
    chartOf(points, width, chosen), historyTable(points));
}
