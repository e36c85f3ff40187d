// The first page: figures of the cluster, the map, and beside it what waits and who uses what.

const theMap = new ClusterMap();

function figure(name, value, unit, note, fraction) {
  return h('div', {}, h('dt', {}, name),
    h('dd', {}, h('div', {class: 'number'}, value, unit ? h('small', {}, ` ${unit}`) : null),
      fraction === undefined ? null : meter(fraction), h('div', {class: 'note'}, note)));
}

function largestShare(share) {
  if (!share) return figure('Largest free share', 'none', '', 'no GPU is open for a share');
  const node = store.nodes.get(share.node);
  const gpu = node?.gpus.find((candidate) => candidate.index === share.gpu);
  return figure('Largest free share', percent(share.computeMilli / 1000), memory(share.memoryMiB),
    gpu ? link(gpuAddress(node, gpu), `GPU ${share.gpu} of ${share.node}`) : `GPU ${share.gpu} of ${share.node}`);
}

function figures(cluster) {
  const waiting = cluster.pending.reduce((sum, reason) => sum + reason.pods, 0);
  const first = cluster.pending[0];
  return h('dl', {class: 'figures card'},
    figure('GPUs in use', gpus(cluster.usedComputeMilli), `of ${count(cluster.gpus)}`,
      `${percent(ratio(cluster.usedComputeMilli, cluster.computeMilli))}${cluster.gpusClosed ? `, ${count(cluster.gpusClosed)} closed` : ''}`,
      ratio(cluster.usedComputeMilli, cluster.computeMilli)),
    figure('Memory in use', memory(cluster.usedMemoryMiB), `of ${memory(cluster.memoryMiB)}`,
      percent(ratio(cluster.usedMemoryMiB, cluster.memoryMiB)), ratio(cluster.usedMemoryMiB, cluster.memoryMiB)),
    figure('Free whole GPUs', count(cluster.freeWholeGpus), '', 'open and empty'),
    largestShare(cluster.largestFreeShare),
    figure('Fragmented', gpus(cluster.fragmentedMilli), `of ${gpus(cluster.freeMilli)} free`, 'too small for typical pods'),
    figure('Waiting pods', count(waiting), '', waiting === 0 ? 'every pod has its GPUs' :
      link(address(['pods'], {state: 'pending'}), first.code || 'not asked about yet', cluster.pending.length > 1 ? ` and ${plural(cluster.pending.length - 1, 'other reason')}` : '')));
}

function waitingCard(cluster) {
  return h('section', {class: 'card'}, h('h2', {}, 'Why pods wait'),
    cluster.pending.length === 0 ? h('p', {class: 'muted small'}, 'No pod waits for a GPU.') :
      h('ul', {class: 'list'}, cluster.pending.slice(0, 8).map(({code, sentence, pods}) => h('li', {},
        h('div', {class: 'row'}, link(address(['pods'], {state: 'pending', q: code}), code || 'Not asked about yet'), h('span', {}, plural(pods, 'pod'))),
        h('div', {class: 'muted small'}, sentence)))));
}

function namespacesCard(cluster) {
  const rows = [...cluster.namespaces].sort((a, b) => b.computeMilli - a.computeMilli || byBytes(a.namespace, b.namespace));
  return h('section', {class: 'card'}, h('h2', {}, 'Namespaces'),
    rows.length === 0 ? h('p', {class: 'muted small'}, 'No pod holds a GPU.') :
      h('ul', {class: 'list'}, rows.slice(0, 10).map((row) => h('li', {},
        h('div', {class: 'row'}, link(address(['pods'], {q: `${row.namespace}/`}), row.namespace),
          h('span', {}, `${gpus(row.computeMilli)}${row.capMilli === null ? '' : ` of ${gpus(row.capMilli)}`} GPUs, ${plural(row.pods, 'pod')}`)),
        row.capMilli === null ? null : meter(ratio(row.computeMilli, row.capMilli)))),
      rows.length > 10 ? h('li', {class: 'muted small'}, `and ${plural(rows.length - 10, 'other')}`) : null));
}

function modelsCard(cluster) {
  return h('section', {class: 'card'}, h('h2', {}, 'Models'),
    h('ul', {class: 'list'}, cluster.models.map((row) => h('li', {},
      h('div', {class: 'row'}, h('span', {}, row.model || '(vanished)'), h('span', {}, `${gpus(row.usedComputeMilli)} of ${count(row.gpus)}, ${count(row.freeWholeGpus)} free`)),
      meter(ratio(row.usedComputeMilli, row.gpus * 1000))))));
}

const choice = (label, value, options, set) => h('label', {}, label,
  h('select', {value, onchange: (event) => set(event.target.value)}, options.map(([key, name]) => h('option', {value: key}, name))));

/** A search field that changes the key `q` of the address. */
const searchField = (label, query, placeholder) => h('label', {class: 'wide'}, label,
  h('input', {type: 'search', value: query.q ?? '', placeholder, oninput: (event) => changeQuery({q: event.target.value})}));

function toolbar(query, size) {
  const set = (key) => (value) => changeQuery({[key]: value});
  const models = (store.cluster?.models ?? []).filter(({model}) => model).map(({model}) => [model, shortModel(model)]);
  return h('div', {class: 'toolbar', role: 'search'},
    searchField('Search', query, 'node, pod, namespace, model…'),
    choice('Show', keyOf(SHOWN, query.show, 'all'), Object.entries(SHOWN).map(([key, [name]]) => [key, name]), set('show')),
    models.length > 1 ? choice('Model', query.model ?? '', [['', 'All models'], ...models], set('model')) : null,
    choice('Colour by', colourBy(query), Object.entries(COLOUR_BY).map(([key, [name]]) => [key, name]), set('by')),
    choice('Tiles', size, Object.entries(SIZES).map(([key, {name}]) => [key, name]), set('size')));
}

const colourBy = (query) => keyOf(COLOUR_BY, query.by, 'pod');

/** Whether the node may well have GPUs, but an inventory that Snug cannot use. */
const isBroken = (node) => node.gpus.length === 0 && node.closed !== null && !node.closed.startsWith('NoGpu');

/** The nodes with a GPU that the search finds, and which of their GPUs it finds. */
function findGroups(query) {
  const found = searcher(query);
  const groups = [];
  let [shown, total] = [0, 0];
  for (const name of store.names) {
    const node = store.nodes.get(name);
    total += node.gpus.length;
    if (isBroken(node) && found.words(`${name} ${node.closed}`) && !found.narrowed) groups.push({node, tiles: [], matches: []});
    const tiles = tilesOf(node);
    const matches = tiles.map(found);
    const hits = matches.filter(Boolean).length;
    if (hits > 0) groups.push({node, tiles, matches});
    shown += hits;
  }
  return {groups, shown, total};
}

function noGpus() {
  if (store.nodes.size === 0) return empty('No node yet', 'Snug has not seen any node. They appear here as soon as the API server shows them.');
  return empty('No GPU yet', `None of the ${plural(store.nodes.size, 'node')} has a GPU inventory. A node gets one from the annotation snug.dev/inventory or from the labels of GPU Feature Discovery.`);
}

function overview({query}) {
  chooseNamespaces(store.cluster);
  const {groups, shown, total} = findGroups(query);
  const size = keyOf(SIZES, query.size, sizeFor(total));
  const by = colourBy(query);
  const {cluster} = store;
  const hint = 'Arrow keys move over the GPUs, Enter opens one. The page Nodes has the same as a table.';
  const none = groups.length === 0;
  return {
    title: 'Map',
    body: [
      h('h1', {class: 'skip', tabindex: '-1'}, 'The cluster'),
      cluster ? figures(cluster) : null,
      h('div', {class: 'overview'},
        h('section', {class: 'card', 'aria-label': 'Map'},
          total === 0 ? noGpus() : [
            toolbar(query, size),
            h('div', {class: 'row'}, legend(by), h('p', {class: 'count', role: 'status'}, shown === total ? plural(total, 'GPU') : `${count(shown)} of ${plural(total, 'GPU')}`)),
            none ? empty('Nothing is found', 'No GPU matches the search.') :
              h('div', {id: 'map', 'data-own': '', role: 'listbox', tabindex: '0', 'aria-label': `GPUs. ${hint}`}),
          ]),
        cluster ? h('div', {class: 'stack'}, historyCard(chartWidth()), waitingCard(cluster), namespacesCard(cluster), modelsCard(cluster)) : null),
    ],
    after() {
      const host = document.getElementById('map');
      if (!host) return;
      theMap.attach(host);
      theMap.update(groups, {size, by});
    },
  };
}

const chartWidth = () => document.querySelector('.overview .stack .card')?.clientWidth - 32 || 306;
