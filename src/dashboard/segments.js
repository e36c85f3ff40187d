// Which part of a GPU's tile belongs to whom. Pure.

/** For each GPU of the node, the compute that kubelet-assigned pods take of it, in milli-GPU. Nobody
 * says which GPUs the kubelet has picked, so the first empty ones stand for them. */
function kubeletShares(node) {
  const shares = node.gpus.map(() => 0);
  let left = node.kubeletComputeMilli ?? 0;
  for (const emptyOnly of [true, false]) {
    node.gpus.forEach((gpu, i) => {
      if (left <= 0 || (emptyOnly && gpu.holders.length > 0)) return;
      const share = Math.max(0, Math.min(left, 1000 - gpu.usedComputeMilli - shares[i]));
      shares[i] += share;
      left -= share;
    });
  }
  return shares;
}

function sliceSegments(gpu) {
  const {axis, instances} = gpu.slices;
  return [...instances].sort((a, b) => a.start - b.start).map((slice) => {
    const amounts = gpu.holders.filter((holder) => holder.uid === slice.holder?.uid);
    return {
      from: slice.start / axis,
      to: (slice.start + slice.size) / axis,
      profile: slice.profile,
      kind: slice.holder ? 'pod' : 'vacant',
      ...slice.holder,
      memoryMiB: amounts.length === 1 ? amounts[0].memoryMiB : null,
      computeMilli: amounts.length === 1 ? amounts[0].computeMilli : null,
    };
  });
}

/** A pod may hold a GPU with several containers: that is one segment. */
function shareSegments(gpu) {
  const pods = new Map();
  for (const holder of gpu.holders) {
    const pod = pods.get(holder.uid);
    if (pod) {
      pod.memoryMiB += holder.memoryMiB;
      pod.computeMilli += holder.computeMilli;
    } else {
      pods.set(holder.uid, {kind: 'pod', ...holder});
    }
  }
  const whole = Math.max(gpu.memoryMiB, gpu.usedMemoryMiB, 1);
  let at = 0;
  return [...pods.values()].map((pod) => {
    const from = at;
    at = Math.min(1, at + pod.memoryMiB / whole);
    return {...pod, from, to: at};
  });
}

/** The segments of a tile from left to right: {kind: pod|vacant|kubelet, from, to, …}, 0 to 1. */
function segmentsOf(gpu, kubeletMilli) {
  const segments = gpu.slices ? sliceSegments(gpu) : shareSegments(gpu);
  if (kubeletMilli > 0) {
    const from = segments.at(-1)?.to ?? 0;
    segments.push({kind: 'kubelet', from, to: Math.min(1, from + kubeletMilli / 1000)});
  }
  return segments;
}

const fillOf = (gpu, kubeletMilli = 0) => Math.min(1, Math.max(
  ratio(gpu.usedMemoryMiB, gpu.memoryMiB), (gpu.usedComputeMilli + kubeletMilli) / 1000));

/** A node's own reason closes none of its GPUs: it is a remark. */
function stateOf(gpu) {
  if (!gpu.healthy) return 'unhealthy';
  return gpu.closed ? 'closed' : 'open';
}

/** Why some or all new pods cannot get the GPU; empty: there is no such reason. */
function remarkOf({node, gpu}) {
  if (gpu.closed) return `Closed: ${gpu.closed}`;
  if (!gpu.healthy) return 'Unhealthy';
  return node.closed ? `Its node is closed: ${node.closed}` : '';
}

const MODE_NAMES = {
  none: 'empty', free: 'free', whole: 'whole', 'time-slicing': 'time-slicing', mps: 'MPS', mig: 'MIG', kubelet: 'by the kubelet',
};
function modeOf(gpu, kubeletMilli) {
  if (gpu.mode !== 'none') return gpu.mode;
  if (kubeletMilli > 0) return 'kubelet';
  return gpu.freeWhole ? 'free' : 'none';
}

/** What is derived from a node, once: its tiles in the order of its GPUs. */
function tilesOf(node) {
  if (!node.tiles) {
    const shares = kubeletShares(node);
    node.tiles = node.gpus.map((gpu, i) => ({
      node, gpu, kubeletMilli: shares[i], fill: fillOf(gpu, shares[i]), state: stateOf(gpu), mode: modeOf(gpu, shares[i]),
      get segments() { // only those of tiles near the screen are needed
        this.known ??= segmentsOf(gpu, shares[i]);
        return this.known;
      },
    }));
  }
  return node.tiles;
}

/** The words in which a search looks for a GPU. */
function searchText(tile) {
  if (tile.text === undefined) {
    const {node, gpu} = tile;
    tile.text = [node.name, `gpu ${gpu.index}`, gpu.uuid, gpu.model, tile.mode, tile.state, node.pool, gpu.closed, node.closed,
      ...gpu.holders.map((holder) => `${holder.namespace}/${holder.pod} ${holder.uid}`),
      ...(gpu.slices?.instances ?? []).map((slice) => slice.profile),
      ...node.kubeletAssigned.map((unit) => `${unit.namespace}/${unit.pod}`),
    ].join(' ');
  }
  return tile.text;
}

const SHOWN = {
  all: ['All GPUs', () => true],
  free: ['Free whole GPUs', (tile) => tile.gpu.freeWhole],
  part: ['Partly used', (tile) => tile.fill > 0 && tile.fill < 1],
  full: ['Full', (tile) => tile.fill === 1],
  closed: ['Closed or unhealthy', (tile) => tile.state !== 'open'],
};

/** The predicate of a search: every word must occur. It has `words`, the same for any text, and
 * `narrowed`, whether nodes without GPUs are out of question. */
function searcher({q = '', show: wantedShow, model = ''}) {
  const show = keyOf(SHOWN, wantedShow, 'all');
  const wanted = q.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = SHOWN[show][1];
  const words = (text) => wanted.every((word) => text.toLowerCase().includes(word));
  const found = (tile) => (!model || tile.gpu.model === model) && shown(tile) && (wanted.length === 0 || words(searchText(tile)));
  return Object.assign(found, {words, narrowed: model !== '' || (show !== 'all' && show !== 'closed')});
}

function gpuSentence(tile) {
  const {node, gpu} = tile;
  const names = [...new Set(gpu.holders.map((holder) => `${holder.namespace}/${holder.pod}`))];
  return [`GPU ${gpu.index} of ${node.name}`, gpu.model, tile.state === 'open' ? '' : tile.state, MODE_NAMES[tile.mode] ?? tile.mode,
    `${percent(tile.fill)} used`, tile.state === 'open' ? remarkOf(tile) : '', names.length > 3 ? plural(names.length, 'pod') : names.join(', ')].filter(Boolean).join(', ');
}
