// The map: one tile for each GPU, drawn on canvases, since thousands of elements would take many
// times as long (docs/decisions/0031-the-dashboard.md). A canvas is a band of the map, drawn when it
// comes near the screen, so that scrolling draws nothing anew. For the keyboard and for screen readers
// the map is a list box with one option, the current tile.

const BAND = 480; // height of a canvas
const AHEAD = 480; // how far outside of the screen canvases are drawn, when there is time
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

class ClusterMap {
  constructor() {
    this.host = null;
    this.cards = [];
    this.order = [];
    this.bands = new Map(); // number → canvas
    this.active = 0; // position in `order` of the current tile
    this.settings = {size: 'L', by: 'pod'};
    this.patterns = {};
    this.shortened = new Map();
    const later = () => {
      this.frame ??= requestAnimationFrame(() => {
        this.frame = undefined;
        this.drawBands();
      });
    };
    addEventListener('scroll', later, {passive: true});
    addEventListener('resize', () => this.host?.isConnected && this.update(this.groups, this.settings));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      readPalette();
      this.patterns = {};
      this.redraw();
    });
  }

  /** Takes the element in which the map is drawn. */
  attach(host) {
    if (this.host === host) return;
    this.host = host;
    this.bands.clear();
    this.tip = h('div', {id: 'tip', hidden: true, 'aria-hidden': 'true'});
    this.option = null;
    host.append(this.tip);
    host.addEventListener('pointermove', (event) => this.hover(event));
    host.addEventListener('pointerleave', () => this.hover(null));
    host.addEventListener('click', (event) => this.open(this.under(event)));
    host.addEventListener('keydown', (event) => this.key(event));
    host.addEventListener('focus', () => this.moveTo(this.active));
  }

  /** groups: [{node, tiles, matches: for each tile}]. Draws what has changed. */
  update(groups, settings) {
    const width = this.host.clientWidth;
    const {cards, height} = layoutMap(groups, width, settings.size);
    const key = JSON.stringify([width, settings, namespaces.size]) + cards.map((card) => `${card.node.name}:${card.places.length}`).join();
    const same = key === this.key_;
    const changed = same && cards.filter((card, i) => card.tiles !== this.cards[i].tiles ||
      card.matches.some((match, k) => match !== this.cards[i].matches[k]));
    Object.assign(this, {groups, settings, cards, key_: key});
    if (same) {
      for (const card of changed) this.drawCard(card);
    } else {
      this.host.style.height = `${Math.max(height, 1)}px`;
      for (const canvas of this.bands.values()) canvas.remove();
      this.bands.clear();
    }
    this.order = tilesInOrder(cards);
    this.active = Math.min(this.active, Math.max(0, this.order.length - 1));
    if (this.order.length === 0) this.clearOption();
    else this.showOption();
    this.drawBands();
    if (this.pointed) this.hover(this.pointed);
  }

  redraw() {
    for (const [band, canvas] of this.bands) this.drawBand(band, canvas);
  }

  /** Draws the bands on the screen and soon after those near it, and drops the others. */
  drawBands(ahead = 0) {
    if (!this.host?.isConnected) return;
    const box = this.host.getBoundingClientRect();
    const first = Math.max(0, Math.floor((-box.top - ahead) / BAND));
    const last = Math.min(Math.ceil(box.height / BAND) - 1, Math.floor((innerHeight - box.top + ahead) / BAND));
    for (const [band, canvas] of this.bands) {
      if (band >= first - 1 && band <= last + 1) continue;
      canvas.remove();
      this.bands.delete(band);
    }
    if (ahead === 0) {
      clearTimeout(this.later);
      this.later = setTimeout(() => this.drawBands(AHEAD), 50);
    }
    for (let band = first; band <= last; ++band) {
      if (this.bands.has(band)) continue;
      const canvas = h('canvas', {'aria-hidden': 'true', style: {top: `${band * BAND}px`}});
      this.host.insertBefore(canvas, this.tip);
      this.bands.set(band, canvas);
      this.drawBand(band, canvas);
    }
  }

  drawBand(band, canvas) {
    const scale = devicePixelRatio || 1;
    const width = this.host.clientWidth;
    const height = Math.min(BAND, this.host.clientHeight - band * BAND);
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    Object.assign(canvas.style, {width: `${width}px`, height: `${height}px`});
    const context = canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, -band * BAND * scale);
    const [top, bottom] = [band * BAND, band * BAND + height];
    for (const card of this.cards) {
      if (card.y < bottom && card.y + card.h > top) this.paintCard(context, card);
    }
  }

  /** Draws one card again, on each band that it is on. */
  drawCard(card) {
    for (const [band, canvas] of this.bands) {
      if (card.y >= (band + 1) * BAND || card.y + card.h <= band * BAND) continue;
      const context = canvas.getContext('2d');
      context.clearRect(card.x - 1, card.y - 1, card.w + 2, card.h + 2);
      this.paintCard(context, card);
    }
  }

  paintCard(context, card) {
    const {node} = card;
    if (this.settings.size !== 'S') {
      context.strokeStyle = palette.line;
      context.lineWidth = 1;
      context.beginPath();
      context.roundRect(card.x + 0.5, card.y + 0.5, card.w - 1, card.h - 1, 6);
      context.stroke();
      const {pad, head} = SIZES[this.settings.size];
      const large = this.settings.size === 'L';
      context.textBaseline = 'middle';
      const middle = card.y + head / 2 + (large ? 3 : 3);
      const end = card.x + card.w - pad;
      const models = [...new Set(node.gpus.map((gpu) => gpu.model))].map(shortModel).join(', ');
      const right = node.closed ? 'closed' : large ? models : '';
      context.font = `${large ? 12 : 11}px ${FONT}`;
      const rightWidth = right ? Math.min(context.measureText(right).width, (card.w - 2 * pad) * 0.6) : 0;
      if (right) {
        context.fillStyle = node.closed ? palette.warn : palette.muted;
        context.textAlign = 'right';
        context.fillText(this.shorten(context, right, rightWidth + 1), end, middle);
      }
      context.textAlign = 'left';
      context.fillStyle = palette.ink;
      context.font = `600 ${large ? 12.5 : 11}px ${FONT}`;
      context.fillText(this.shorten(context, node.name, card.w - 2 * pad - rightWidth - (right ? 8 : 0)), card.x + pad, middle);
    }
    if (card.tiles.length === 0) this.paintNothing(context, card);
    card.tiles.forEach((tile, i) => {
      context.globalAlpha = card.matches[i] ? 1 : 0.18;
      if (this.settings.size === 'L') this.paintLarge(context, tile, card.places[i]);
      else this.paintTile(context, tile, card.places[i]);
      context.globalAlpha = 1;
    });
  }

  /** The body of a card without GPUs: the node is closed, and its page says why. */
  paintNothing(context, card) {
    const {pad, head} = SIZES[this.settings.size];
    context.fillStyle = this.pattern(context, 'hatch');
    context.fillRect(card.x + pad, card.y + head, card.w - 2 * pad, card.h - head - pad);
  }

  /** A large tile: a line of text, the tile itself, and a thin bar of the compute in use. */
  paintLarge(context, tile, place) {
    const {x, y, w} = place;
    context.textBaseline = 'middle';
    context.font = `11.5px ${FONT}`;
    context.fillStyle = tile.state === 'open' ? palette.muted : palette[tile.state === 'closed' ? 'warn' : 'bad'];
    const word = tile.state === 'open' ? MODE_NAMES[tile.mode] ?? tile.mode : tile.state;
    context.textAlign = 'left';
    context.fillText(this.shorten(context, `${tile.gpu.index} · ${word}`, w - 40), x, y + 7);
    context.textAlign = 'right';
    context.fillStyle = palette.muted;
    context.fillText(percent(tile.fill), x + w, y + 7);
    const box = {x, y: y + 17, w, h: 40};
    this.paintTile(context, tile, box);
    context.fillStyle = palette.free;
    context.fillRect(x, y + 61, w, 3);
    context.fillStyle = palette['line-strong'];
    context.fillRect(x, y + 61, Math.round(w * Math.min(1, (tile.gpu.usedComputeMilli + tile.kubeletMilli) / 1000)), 3);
    context.textAlign = 'left';
    context.font = `12px ${FONT}`;
    for (const segment of tile.segments) {
      const [from, to] = this.edges(segment, box);
      const text = segment.kind === 'pod' ? segment.pod : segment.kind === 'vacant' ? segment.profile : '';
      if (!text || to - from < 30) continue;
      context.fillStyle = segment.kind === 'pod' ? palette['on-fill'] : palette.muted;
      context.fillText(this.shorten(context, text, to - from - 10), from + 5, box.y + box.h / 2 + 0.5);
    }
  }

  /** The pixels from which to which a segment goes; one that holds anything is at least 2 wide. */
  edges(segment, {x, w}) {
    const from = Math.min(x + Math.round(segment.from * w), x + w - 2);
    return [from, Math.max(from + 2, x + Math.round(segment.to * w))];
  }

  paintTile(context, tile, box) {
    const {x, y, w, h: height} = box;
    // Round corners need a clip, which takes most of the time, so only large tiles have them.
    const rounded = height > 20;
    if (rounded) {
      context.save();
      context.beginPath();
      context.roundRect(x, y, w, height, 4);
      context.clip();
    }
    // A GPU without pods has a health, too.
    const healthAlone = this.settings.by === 'health';
    context.fillStyle = healthAlone ? palette[STATE_COLOURS[tile.state]] : palette.free;
    context.fillRect(x, y, w, height);
    (healthAlone ? [] : tile.segments).forEach((segment, i) => {
      const [from, to] = this.edges(segment, box);
      // A line of the card's colour parts neighbours, where there is width for it.
      const gap = i + 1 < tile.segments.length && to - from > 3 ? 1 : 0;
      this.paintSegment(context, tile, segment, {x: from, y, w: to - from - gap, h: height});
    });
    if (tile.gpu.slices && w > 60) this.paintTicks(context, tile.gpu.slices.axis, box);
    if (tile.state !== 'open') {
      context.fillStyle = this.pattern(context, 'hatch');
      context.fillRect(x, y, w, height);
    }
    if (rounded) context.restore();
    context.strokeStyle = tile.state === 'unhealthy' ? palette.bad : palette[height > 14 ? 'line-strong' : 'line'];
    context.lineWidth = 1;
    if (rounded) {
      context.beginPath();
      context.roundRect(x + 0.5, y + 0.5, w - 1, height - 1, 4);
      context.stroke();
    } else {
      context.strokeRect(x + 0.5, y + 0.5, w - 1, height - 1);
    }
  }

  paintSegment(context, tile, segment, {x, y, w, h: height}) {
    if (segment.kind === 'vacant') {
      context.strokeStyle = palette['line-strong'];
      context.setLineDash([3, 2]);
      context.strokeRect(x + 1.5, y + 2.5, w - 3, height - 5);
      context.setLineDash([]);
      return;
    }
    const kubelet = segment.kind === 'kubelet';
    const byPod = this.settings.by === 'pod' || this.settings.by === 'namespace';
    context.fillStyle = kubelet && byPod ? palette.free : COLOUR_BY[this.settings.by][1](tile, segment);
    context.fillRect(x, y, w, height);
    if (kubelet) {
      context.fillStyle = this.pattern(context, 'dots');
      context.fillRect(x, y, w, height);
    }
  }

  /** The axis of memory slices, as short marks on the lower edge. */
  paintTicks(context, axis, {x, y, w, h: height}) {
    context.fillStyle = palette['line-strong'];
    for (let i = 1; i < axis; ++i) context.fillRect(x + Math.round((i * w) / axis), y + height - 4, 1, 4);
  }

  pattern(context, name) {
    if (this.patterns[name]) return this.patterns[name];
    const tile = h('canvas', {width: 6, height: 6});
    const draw = tile.getContext('2d');
    draw.strokeStyle = draw.fillStyle = name === 'hatch' ? palette.hatch : palette.muted;
    draw.lineWidth = 1;
    if (name === 'hatch') {
      for (const offset of [-6, 0, 6]) {
        draw.moveTo(offset - 1, 7);
        draw.lineTo(offset + 7, -1);
      }
      draw.stroke();
    } else {
      draw.fillRect(1, 1, 1.4, 1.4);
      draw.fillRect(4, 4, 1.4, 1.4);
    }
    return (this.patterns[name] = context.createPattern(tile, 'repeat'));
  }

  /** The text, or its beginning with an ellipsis, in this width. */
  shorten(context, text, width) {
    const key = `${context.font}|${Math.round(width)}|${text}`;
    let short = this.shortened.get(key);
    if (short === undefined) {
      short = text;
      while (short && context.measureText(short === text ? text : short + '…').width > width) short = short.slice(0, -1);
      if (short !== text) short = short ? short + '…' : '';
      if (this.shortened.size > 5000) this.shortened.clear();
      this.shortened.set(key, short);
    }
    return short;
  }

  under(event) {
    const box = this.host.getBoundingClientRect();
    return tileAt(this.cards, event.clientX - box.left, event.clientY - box.top);
  }

  open(hit) {
    if (!hit) return;
    const {card, index} = hit;
    location.hash = index < 0 ? nodeAddress(card.node.name) : gpuAddress(card.node, card.tiles[index].gpu);
  }

  hover(event) {
    const hit = event && this.under(event);
    this.pointed = hit ? {clientX: event.clientX, clientY: event.clientY} : null;
    this.host.style.cursor = hit ? 'pointer' : '';
    this.tip.hidden = !hit || hit.index < 0;
    if (this.tip.hidden) return;
    this.tip.replaceChildren(...tipOf(hit.card.tiles[hit.index]));
    const place = hit.card.places[hit.index];
    const left = Math.min(place.x, this.host.clientWidth - this.tip.offsetWidth);
    const box = this.host.getBoundingClientRect();
    const below = place.y + place.h + 6;
    const above = place.y - 6 - this.tip.offsetHeight;
    const fits = box.top + below + this.tip.offsetHeight < innerHeight || box.top + above < 0;
    Object.assign(this.tip.style, {left: `${Math.max(0, left)}px`, top: `${fits ? below : above}px`});
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const moves = {
      ArrowRight: () => this.active + 1, ArrowLeft: () => this.active - 1,
      ArrowDown: () => nextRow(this.order, this.active, 1), ArrowUp: () => nextRow(this.order, this.active, -1),
      Home: () => 0, End: () => this.order.length - 1,
    };
    if (this.order.length === 0) return;
    if (event.key === 'Enter' || event.key === ' ') this.open(this.order[this.active]);
    else if (moves[event.key]) this.moveTo(moves[event.key]());
    else return;
    event.preventDefault();
  }

  moveTo(position) {
    if (this.order.length === 0) return;
    this.active = Math.max(0, Math.min(this.order.length - 1, position));
    this.clearOption();
    this.showOption();
    this.option.scrollIntoView({block: 'nearest'});
  }

  clearOption() {
    this.option?.remove();
    this.option = null;
    this.host.removeAttribute('aria-activedescendant');
  }

  /** The option that stands for the current tile. A new one for each tile, so that a screen reader
   * reads it. */
  showOption() {
    const {card, index, place} = this.order[this.active];
    if (!this.option) {
      this.option = h('div', {role: 'option', class: 'at', id: `gpu-${this.active}`, 'aria-selected': 'true'});
      this.host.append(this.option);
      this.host.setAttribute('aria-activedescendant', this.option.id);
    }
    this.option.setAttribute('aria-label', gpuSentence(card.tiles[index]));
    this.option.setAttribute('aria-posinset', this.active + 1);
    this.option.setAttribute('aria-setsize', this.order.length);
    Object.assign(this.option.style, {left: `${place.x}px`, top: `${place.y}px`, width: `${place.w}px`, height: `${place.h}px`});
  }
}

const shortModel = (model) => model.replace(/^NVIDIA[- ]/, '') || '(vanished)';

/** What the pointer shows about a tile. */
function tipOf(tile) {
  const {node, gpu} = tile;
  const shown = tile.segments.slice(0, 9);
  const colour = (segment) => (segment.kind === 'pod' ? swatch(podColour(podColours(node).get(segment.uid))) : swatch('', segment.kind === 'kubelet' ? 'dotted' : 'outline'));
  const name = (segment) => ({pod: `${segment.namespace}/${segment.pod}`, vacant: 'slice without a pod', kubelet: 'by the kubelet'}[segment.kind]);
  const amount = (segment) => [segment.profile, segment.memoryMiB ? memory(segment.memoryMiB) : ''].filter(Boolean).join(', ');
  const remark = remarkOf(tile);
  return [
    h('strong', {}, `GPU ${gpu.index} of ${node.name}`),
    h('div', {class: 'muted'}, `${shortModel(gpu.model)} · ${MODE_NAMES[tile.mode] ?? tile.mode} · ${memory(gpu.usedMemoryMiB)} of ${memory(gpu.memoryMiB)} · ${gpu.usedComputeMilli / 10} % compute`),
    remark ? h('div', {}, remark) : null,
    shown.length > 0 ? h('ul', {}, shown.map((segment) => h('li', {}, colour(segment), name(segment), h('span', {class: 'amount muted'}, amount(segment)))),
      tile.segments.length > shown.length ? h('li', {class: 'muted'}, `and ${plural(tile.segments.length - shown.length, 'more', 'more')}`) : null) : null,
  ].filter(Boolean);
}
