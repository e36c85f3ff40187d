// The pages of one node and of one GPU.

function notThere(title, text) {
  return {title, body: [h('h1', {tabindex: '-1'}, title), h('section', {class: 'card'}, empty('Not found', text))]};
}

const stateChip = (tile) => chip(tile.state === 'open' ? 'open' : tile.state, {open: 'good', closed: 'warn', unhealthy: 'bad'}[tile.state]);

function axisBar(tile, thin) {
  const colours = podColours(tile.node);
  const place = ({from, to}) => ({left: `${from * 100}%`, width: `${(to - from) * 100}%`});
  return h('div', {class: `axis ${thin ? 'thin' : ''}`, 'aria-hidden': thin ? 'true' : null}, tile.segments.map((segment) => {
    const text = segment.kind === 'pod' ? segment.pod : segment.kind === 'vacant' ? `${segment.profile}, no pod` : 'by the kubelet';
    const attributes = {class: segment.kind, title: text, style: {...place(segment), ...(segment.kind === 'pod' ? {background: podColour(colours.get(segment.uid))} : {})}};
    if (thin || segment.kind !== 'pod') return h('span', attributes, thin ? '' : text);
    return h('a', {...attributes, href: podAddress(segment)}, text);
  }));
}

function axisTicks(tile) {
  const axis = tile.gpu.slices?.axis;
  const marks = axis ? Array.from({length: axis + 1}, (_, i) => String(i)) : ['0', memory(tile.gpu.memoryMiB)];
  return h('div', {class: 'ticks', 'aria-hidden': 'true'}, marks.map((mark) => h('span', {}, mark)));
}

function holdersTable(tile) {
  const colours = podColours(tile.node);
  const rows = tile.gpu.holders.map((holder) => {
    const slice = tile.gpu.slices?.instances.find((candidate) => candidate.holder?.uid === holder.uid && candidate.holder.container === holder.container);
    return [h('span', {class: 'title'}, swatch(podColour(colours.get(holder.uid))), podLink(holder)), holder.container,
      slice ? `${slice.profile} at ${slice.start}` : '', memory(holder.memoryMiB), `${holder.computeMilli / 10} %`];
  });
  if (rows.length === 0) return h('p', {class: 'muted'}, 'Snug has given this GPU to no pod.');
  return table('Pods on this GPU', [['Pod'], ['Container'], ['Slice'], ['Memory', 'number'], ['Compute', 'number']], rows);
}

function gpuPage({parts, query}) {
  const node = store.nodes.get(parts[1]);
  const tile = node && tilesOf(node).find(({gpu}) => String(gpu.index) === parts[2] && (!query.uuid || gpu.uuid === query.uuid));
  if (!tile) return notThere('GPU', `Snug does not know a GPU ${parts[2]} of a node ${parts[1]}.`);
  const {gpu} = tile;
  const remark = remarkOf(tile);
  return {
    title: `GPU ${gpu.index} of ${node.name}`,
    body: [
      h('p', {class: 'crumbs'}, link('#/', 'Map'), ' / ', link(nodeAddress(node.name), node.name)),
      h('div', {class: 'title'}, h('h1', {tabindex: '-1'}, `GPU ${gpu.index} of ${node.name}`), stateChip(tile), chip(MODE_NAMES[tile.mode] ?? tile.mode)),
      remark ? callout(gpu.healthy ? '' : 'bad', remark) : null,
      h('section', {class: 'card stack'},
        facts(['Model', gpu.model || '(vanished)'], ['UUID', h('code', {}, gpu.uuid || 'unknown')], ['Memory', `${memory(gpu.usedMemoryMiB)} of ${memory(gpu.memoryMiB)}`],
          ['Compute', `${gpu.usedComputeMilli / 10} %`], tile.kubeletMilli > 0 && ['Kubelet', 'one of this node\'s GPUs that the kubelet gives out; Snug is not told which one']),
        h('div', {role: 'group', 'aria-label': gpu.slices ? 'Slices on the axis of memory slices' : 'Memory by pod'}, axisBar(tile, false), axisTicks(tile)),
        holdersTable(tile)),
    ],
  };
}

function gpuRow(tile) {
  const {node, gpu} = tile;
  const pods = [...new Map(gpu.holders.map((holder) => [holder.uid, holder])).values()];
  return [link(gpuAddress(node, gpu), `GPU ${gpu.index}`), shortModel(gpu.model), MODE_NAMES[tile.mode] ?? tile.mode, [axisBar(tile, true)],
    `${memory(gpu.usedMemoryMiB)} of ${memory(gpu.memoryMiB)}`, `${(gpu.usedComputeMilli + tile.kubeletMilli) / 10} %`,
    [pods.slice(0, 6).flatMap((pod, i) => [i ? ', ' : '', podLink(pod)]), pods.length > 6 ? ` and ${pods.length - 6} more` : ''], stateChip(tile)];
}

/** What the node's agent says of itself: `fail-closed, limits mps`. */
const agentChip = (agent) => chip(`agent: ${agent.enforcement}${agent.limits ? `, limits ${agent.limits}` : ''}${agent.alive ? '' : ', away'}`,
  agent.alive ? '' : 'warn');

function nodePage({parts}) {
  const node = store.nodes.get(parts[1]);
  if (!node) return notThere('Node', `Snug does not know a node ${parts[1]}.`);
  const tiles = tilesOf(node);
  return {
    title: node.name,
    body: [
      h('p', {class: 'crumbs'}, link('#/', 'Map'), ' / ', link('#/nodes', 'Nodes')),
      h('div', {class: 'title'}, h('h1', {tabindex: '-1'}, node.name), chip(`pool ${node.pool}`), node.agent ? agentChip(node.agent) : null,
        node.enforcer ? chip(`enforcer ${node.enforcer}`) : null,
        node.closed ? chip('closed', 'warn') : null),
      node.closed ? callout('', node.closed) : null,
      h('section', {class: 'card stack'},
        tiles.length === 0 ? empty('No GPU', 'This node has no GPU inventory.') :
          table('GPUs', [['GPU'], ['Model'], ['Mode'], ['Memory by pod', 'bar'], ['Memory', 'number'], ['Compute', 'number'], ['Pods'], ['State']], tiles.map(gpuRow))),
      node.kubeletAssigned.length === 0 ? null : h('section', {class: 'card'},
        table('Pods whose GPUs the kubelet picks', [['Pod'], ['Container'], ['Resource'], ['Count', 'number']],
          node.kubeletAssigned.map((unit) => [podLink(unit), unit.container, unit.resource, count(unit.count)]))),
    ],
  };
}
