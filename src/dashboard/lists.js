// The pages with tables of all nodes, of all pods, and the policy.

const ROWS = 100;

/** The rows of one page of a long table, and the buttons that turn it. */
function paged(rows, query) {
  const pages = Math.max(1, Math.ceil(rows.length / ROWS));
  const page = Math.min(pages, Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1));
  const turn = (to) => h('button', {type: 'button', disabled: to < 1 || to > pages, onclick: () => changeQuery({page: String(to)})}, to < page ? 'Previous' : 'Next');
  return {
    shown: rows.slice((page - 1) * ROWS, page * ROWS),
    pager: pages === 1 ? null : h('div', {class: 'pager'}, turn(page - 1), turn(page + 1), h('span', {class: 'muted'}, `Page ${page} of ${count(pages)}`)),
  };
}

const barOf = (fraction) => [meter(fraction)];

function nodeRow(node) {
  const tiles = tilesOf(node);
  const sum = (amount) => tiles.reduce((total, tile) => total + amount(tile), 0);
  const milli = sum((tile) => tile.gpu.usedComputeMilli + tile.kubeletMilli);
  return [
    link(nodeAddress(node.name), node.name),
    [...new Set(node.gpus.map((gpu) => shortModel(gpu.model)))].join(', '),
    count(node.gpus.length),
    barOf(ratio(milli, node.gpus.length * 1000)),
    gpus(milli),
    memory(sum((tile) => tile.gpu.usedMemoryMiB)),
    count(node.gpus.filter((gpu) => gpu.freeWhole).length),
    node.closed ?? (tiles.some((tile) => tile.state !== 'open') ? `${plural(tiles.filter((tile) => tile.state !== 'open').length, 'GPU')} closed` : ''),
  ];
}

function nodesPage({query}) {
  const {groups, shown, total} = findGroups(query);
  const {shown: rows, pager} = paged(groups, query);
  return {
    title: 'Nodes',
    body: [
      h('h1', {tabindex: '-1'}, 'Nodes'),
      h('section', {class: 'card'},
        h('div', {class: 'toolbar', role: 'search'}, searchField('Search', query, 'node, pod, namespace, model…'),
          choice('Show', keyOf(SHOWN, query.show, 'all'), Object.entries(SHOWN).map(([key, [name]]) => [key, name]), (show) => changeQuery({show})),
          h('p', {class: 'count', role: 'status'}, `${plural(groups.length, 'node')}, ${shown === total ? '' : `${count(shown)} of `}${plural(total, 'GPU')}`)),
        total === 0 ? noGpus() : groups.length === 0 ? empty('Nothing is found', 'No GPU matches the search.') :
          table('Nodes with GPUs', [['Node'], ['Models'], ['GPUs', 'number'], ['In use', 'bar'], ['GPUs in use', 'number'], ['Memory', 'number'], ['Free whole GPUs', 'number'], ['Closed']],
            rows.map(({node}) => nodeRow(node))), pager),
    ],
  };
}

const STATE_TONES = {bound: 'good', reserved: '', pending: 'warn', terminating: '', hypothetical: ''};

function podsPage({query}) {
  const {status, value} = store.page.path === 'v1/pods' ? store.page : {};
  const need = {path: 'v1/pods', stamp: `${store.generation} ${JSON.stringify(store.cluster?.pending)}`};
  const pods = value?.pods ?? [];
  const words = (query.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const found = pods.filter((pod) => (!query.state || pod.state === query.state) && words.every((word) =>
    `${pod.namespace}/${pod.pod} ${pod.uid} ${pod.node ?? ''} ${pod.request} ${pod.reason ?? ''}`.toLowerCase().includes(word)));
  found.sort((a, b) => Number(b.state === 'pending') - Number(a.state === 'pending'));
  const {shown, pager} = paged(found, query);
  let content = table('GPU pods', [['Pod'], ['State'], ['Request'], ['Node'], ['Reason']], shown.map((pod) => [
    podLink(pod), chip(pod.state, STATE_TONES[pod.state]), h('code', {}, pod.request || 'malformed'),
    pod.node ? link(nodeAddress(pod.node), pod.node) : '', pod.reason ?? '']));
  if (status === undefined) content = h('p', {class: 'empty'}, 'Reading the pods…');
  else if (status !== 200) content = callout('bad', value.Error);
  else if (pods.length === 0) content = empty('No pod yet', 'No pod in the cluster asks for a GPU.');
  else if (found.length === 0) content = empty('Nothing is found', 'No pod matches the search.');
  return {
    title: 'Pods', need,
    body: [
      h('h1', {tabindex: '-1'}, 'Pods'),
      h('section', {class: 'card'},
        h('div', {class: 'toolbar', role: 'search'}, searchField('Search', query, 'pod, namespace, node, request, reason…'),
          choice('State', query.state ?? '', [['', 'All states'], ...['pending', 'reserved', 'bound', 'terminating'].map((state) => [state, state])], (state) => changeQuery({state})),
          h('p', {class: 'count', role: 'status'}, found.length === pods.length ? plural(pods.length, 'pod') : `${count(found.length)} of ${plural(pods.length, 'pod')}`)),
        content, pager),
    ],
  };
}

function policyPage() {
  const {status, value} = store.page.path === 'v1/policy' ? store.page : {};
  const source = value?.source === 'default' ? 'compiled in' : value?.source;
  return {
    // Another process begins with generation 1 again.
    title: 'Policy', need: {path: 'v1/policy', stamp: `${store.version.replace(/-\d+$/, '')} ${store.cluster?.policy.generation}`},
    body: [
      h('h1', {tabindex: '-1'}, 'The policy in force'),
      h('section', {class: 'card stack'},
        status === undefined ? h('p', {class: 'empty'}, 'Reading the policy…') :
          status !== 200 ? callout('bad', value.Error) : [
            facts(['From', h('code', {}, source)], ['Default profile', store.cluster?.policy.default ?? ''], ['Loads since the start', count(value.generation)]),
            h('pre', {tabindex: '0', role: 'region', 'aria-label': 'Policy as YAML'}, h('code', {}, value.yaml)),
          ]),
    ],
  };
}
