// The page of one pod, with the explanation of /v1/explain.

/** [{tile, holder}] of what the pod holds, by the nodes that the map knows. */
function devicesOf(namespace, pod) {
  const found = [];
  for (const node of store.nodes.values()) {
    for (const tile of tilesOf(node)) {
      for (const holder of tile.gpu.holders) {
        if (holder.pod === pod && holder.namespace === namespace) found.push({tile, holder});
      }
    }
  }
  return found;
}

const asSentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
/** The sentence of a reason, without the code that already stands beside it. */
const withoutCode = ({code, sentence}) => (code && sentence.startsWith(`${code}: `) ? sentence.slice(code.length + 2) : sentence);

function devicesCard(devices) {
  if (devices.length === 0) return null;
  return h('section', {class: 'card'}, table('What it holds', [['GPU'], ['Model'], ['Container'], ['Memory', 'number'], ['Compute', 'number'], ['Shared with', 'number']],
    devices.map(({tile, holder}) => [link(gpuAddress(tile.node, tile.gpu), `GPU ${tile.gpu.index} of ${tile.node.name}`), tile.gpu.model, holder.container,
      memory(holder.memoryMiB), `${holder.computeMilli / 10} %`, plural(new Set(tile.gpu.holders.map((other) => other.uid)).size - 1, 'pod')])));
}

function requestCard({request}) {
  if (!request?.length) return null;
  return h('section', {class: 'card'}, table('The request as Snug understands it', [['Container'], ['Request'], ['Asks for']],
    request.map((row) => [row.container, h('code', {}, row.text), row.asks])));
}

function verdict(explanation) {
  const {refusal, nearest, feasible, nodes, state} = explanation;
  if (refusal) return callout('bad', h('strong', {}, refusal.code), ': ', refusal.sentence);
  if (state === 'bound' || state === 'reserved' || state === 'terminating') return null;
  if (feasible > 0) return callout('good', `It fits on ${count(feasible)} of ${plural(nodes, 'node')}.`);
  return callout('', h('strong', {}, `It fits on none of ${plural(nodes, 'node')}.`), nearest ? ` On ${nearest.node}: ${withoutCode(nearest)}.` : '');
}

function adviceCard({advice}) {
  if (!advice?.length) return null;
  return h('section', {class: 'card'}, h('h2', {}, 'What would make it fit'),
    h('ol', {class: 'advice'}, advice.map(({sentence, command}) => h('li', {}, asSentence(sentence), command ? h('code', {}, command) : null))));
}

function reasonsCard({reasons, nodes, feasible, perNode}, {parts, query}) {
  if (!reasons?.length && (feasible || !nodes)) return null;
  const {shown, pager} = paged(perNode ?? [], query);
  return h('section', {class: 'card stack'}, table('Why nodes do not fit, the nearest first', [['Reason'], ['Nodes', 'number'], ['Share of the nodes', 'bar'], ['Meaning']],
    reasons.map((reason) => [reason.code, count(reason.nodes), barOf(ratio(reason.nodes, nodes)), reason.sentence])),
  perNode ? table('Each node', [['Node'], ['Reason'], ['What it lacks']], shown.map((row) => [link(nodeAddress(row.node), row.node), row.code || (row.sentence.startsWith('the pod fits') ? 'it fits' : 'CPU, memory or pod slots'), withoutCode(row)])) :
    h('p', {}, link(address(parts, {...query, nodes: 'true'}), 'Each node\'s own reason')), pager);
}

function blockersCard({blockers}) {
  if (!blockers?.length) return null;
  return h('section', {class: 'card'}, table('Who holds the nearest room', [['Pod'], ['Place'], ['Memory', 'number'], ['Compute', 'number']],
    blockers.map((pod) => [podLink(pod),
      pod.gpu === undefined ? link(nodeAddress(pod.node), pod.node) : link(address(['gpu', pod.node, pod.gpu]), `GPU ${pod.gpu} of ${pod.node}`),
      pod.memoryMiB === undefined ? '' : memory(pod.memoryMiB),
      pod.computeMilli === undefined ? plural(pod.units ?? 0, 'unit') : `${pod.computeMilli / 10} %`])));
}

/** How the comparison was decided, if the totals alone do not show it. As `snugctl explain` says it. */
function decisionOf({node, total, scoreClass, quantum, decided, runnerUp: other}) {
  const isEqual = scoreClass === other.scoreClass;
  const isBest = isEqual ? byBytes(node, other.node) < 0 : scoreClass > other.scoreClass;
  if (isBest && !isEqual) return '';
  const steps = quantum === other.quantum ? `Both scores are in the same step of ${count(quantum)} (quantum)` : 'The score classes are the same';
  const equal = total === other.total ? 'Equal scores' : `${steps}: equally good`;
  if (isBest) return `${equal}${total === other.total ? ':' : ';'} the node with the lower name wins.`;
  const best = decided === 'at bind' ? `kube-scheduler chose this node; Snug's best was ${other.node}.` : `The best node would now be ${other.node}.`;
  return isEqual ? `${equal}. ${best}` : best;
}

function placementCard({placement, node}) {
  if (!placement) return null;
  const {runnerUp} = placement;
  const theirs = new Map((runnerUp?.terms ?? []).map((term) => [term.term, term]));
  const columns = [['Term'], ['Weight', 'number'], ['Value', 'number'], ['Score', 'number'], ...(runnerUp ? [[`Score of ${runnerUp.node}`, 'number']] : [])];
  const rows = placement.terms.map((term) => [term.term, count(term.weight), count(term.value), count(term.score),
    ...(runnerUp ? [theirs.has(term.term) ? count(theirs.get(term.term).score) : '-'] : [])]);
  const sum = (name, key) => rows.push([h('strong', {}, name), '', '', count(placement[key]), ...(runnerUp ? [count(runnerUp[key])] : [])]);
  sum('Total', 'total');
  if (placement.quantum > 1 || runnerUp?.quantum > 1) sum('Score class', 'scoreClass');
  const title = `${node ? 'Why node' : 'The best node is'} ${placement.node}: profile ${placement.profile}, ${placement.decided === 'at bind' ? 'scores when it was bound' : 'scores as of now'}`;
  const remark = runnerUp ? decisionOf(placement) : 'No other node fits.';
  return h('section', {class: 'card'}, table(title, columns, rows), remark ? h('p', {class: 'muted small'}, remark) : null);
}

function notesOf({notes}) {
  return notes?.length ? callout('', h('ul', {class: 'advice'}, notes.map((note) => h('li', {}, asSentence(note))))) : null;
}

function podPage({parts, query}) {
  const [, namespace, pod] = parts;
  const shortPath = `v1/explain?${new URLSearchParams({namespace, pod})}`;
  const path = query.nodes ? `${shortPath}&nodes=true` : shortPath;
  const {status, value} = store.page.path?.replace('&nodes=true', '') === shortPath ? store.page : {};
  const devices = devicesOf(namespace, pod);
  const explained = status === 200 ? value : {};
  const state = explained.state ?? (devices.length > 0 ? 'bound' : null);
  const node = explained.node ?? devices[0]?.tile.node.name;
  return {
    title: `${namespace}/${pod}`, need: {path, stamp: `${store.generation} ${JSON.stringify(store.cluster?.pending)}`},
    body: [
      h('p', {class: 'crumbs'}, link('#/', 'Map'), ' / ', link('#/pods', 'Pods'), ' / ', link(address(['pods'], {q: `${namespace}/`}), namespace)),
      h('div', {class: 'title'}, h('h1', {tabindex: '-1'}, pod), state ? chip(state, STATE_TONES[state]) : null,
        node ? link(nodeAddress(node), `on ${node}`) : null, explained.uid ? h('code', {class: 'muted'}, explained.uid) : null),
      status === undefined ? h('p', {class: 'muted'}, 'Asking why…') : null,
      status !== undefined && status !== 200 ? callout(devices.length > 0 ? '' : 'bad', `There is no explanation: ${value.Error}`) : null,
      status === 200 ? [verdict(explained), notesOf(explained), adviceCard(explained), blockersCard(explained), reasonsCard(explained, {parts, query})] : null,
      devicesCard(devices),
      status === 200 ? [placementCard(explained), requestCard(explained)] : null,
    ],
  };
}
