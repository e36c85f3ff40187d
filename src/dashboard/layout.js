// Where each node and each GPU is on the map. Pure. A node is a card that spans some units of a grid;
// a unit holds `per` tiles side by side.

const SIZES = {
  L: {name: 'Large', width: 132, height: 66, gap: 6, pad: 10, head: 26, between: 10, rows: 10, per: 2, most: 4},
  M: {name: 'Medium', width: 34, height: 20, gap: 3, pad: 8, head: 21, between: 8, rows: 8, per: 4, most: 4},
  S: {name: 'Small', width: 11, height: 12, gap: 2, pad: 0, head: 0, between: 12, rows: 8, per: 8, most: 8},
};
const sizeFor = (gpuCount) => (gpuCount <= 64 ? 'L' : gpuCount <= 1000 ? 'M' : 'S');

/** groups: [{node, tiles, matches}] in the order of the map. Returns the cards with their tiles, and
 * the height of all. */
function layoutMap(groups, width, size) {
  const {width: least, height, gap, pad, head, between, rows, per, most} = SIZES[size];
  const smallest = per * (least + gap) - gap + 2 * pad;
  const spans = groups.map(({tiles}) => Math.ceil(Math.min(most, Math.max(1, tiles.length)) / per));
  const widest = Math.max(1, ...spans);
  let units = Math.max(1, Math.floor((width + between) / (smallest + between)));
  // No column stays empty where all nodes have the same number of GPUs.
  if (units > widest && spans.every((span) => span === widest)) units -= units % widest;
  const unit = Math.min((width + between) / units, 1.6 * smallest + between);
  const cards = [];
  let [column, y, rowHeight] = [0, 0, 0];
  groups.forEach((group, i) => {
    const wanted = Math.min(most, Math.max(1, group.tiles.length));
    const span = Math.min(units, spans[i]);
    const columns = Math.min(wanted, span * per);
    if (column + span > units) [column, y, rowHeight] = [0, y + rowHeight + rows, 0];
    const card = {...group, x: Math.round(column * unit), y, w: Math.floor(span * unit - between)};
    const tileWidth = Math.floor((card.w - 2 * pad + gap) / (per === 8 ? per : columns)) - gap;
    card.h = head + 2 * pad + Math.ceil(Math.max(1, group.tiles.length) / columns) * (height + gap) - gap - (head ? pad / 2 : 0);
    card.places = group.tiles.map((_, k) => ({
      x: card.x + pad + (k % columns) * (tileWidth + gap),
      y: y + head + (head ? pad / 2 : pad) + Math.floor(k / columns) * (height + gap),
      w: tileWidth, h: height,
    }));
    cards.push(card);
    column += span;
    rowHeight = Math.max(rowHeight, card.h);
  });
  return {cards, height: y + rowHeight};
}

const inside = (box, x, y) => x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;

/** {card, index}: the tile at this point; index −1: its node's name. Null: nothing is there. */
function tileAt(cards, x, y) {
  const card = cards.find((candidate) => inside(candidate, x, y));
  if (!card) return null;
  const index = card.places.findIndex((place) => inside(place, x, y));
  return index >= 0 || y < (card.places[0]?.y ?? Infinity) ? {card, index} : null;
}

/** All tiles in reading order, for the keyboard: [{card, index, place}]. */
function tilesInOrder(cards) {
  return cards.flatMap((card) => card.places.map((place, index) => ({card, index, place})));
}

/** The position in `order` of the nearest tile in the next row of tiles, down (1) or up (−1). */
function nextRow(order, from, direction) {
  const {place} = order[from];
  const middle = place.x + place.w / 2;
  let best = from;
  let bestDistance = Infinity;
  for (let i = from; order[i]; i += direction) {
    const down = (order[i].place.y - place.y) * direction;
    if (down <= 0) continue;
    const distance = down * 8 + Math.abs(order[i].place.x + order[i].place.w / 2 - middle);
    if (distance < bestDistance) [best, bestDistance] = [i, distance];
    if (down > 400) break;
  }
  return best;
}
