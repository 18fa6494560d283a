// The stream picture: a lane a stream, a box an op, left to right as the host issued them; arrows from record to wait;
// in red the clobbering write (1), the victim (2), and what the disputed memory holds over time.
const LANE = { left: 104, height: 78, box: 40, gap: 9 };

// "routed_out[2] @ hidden_states" -> {value, buffer, chunk}; a value of its own memory goes without the second part.
function access(text) {
  const [value, buffer] = text.split(" @ ");
  const chunk = /\[(\d+)\]$/.exec(value);
  return { value, buffer: buffer || value.replace(/\[\d+\]$/, ""), chunk: chunk && chunk[1] };
}

// A name on at most two lines, broken at the underscore nearest to its middle.
function twoLines(name) {
  if (name.length <= 10) return [name];
  const breaks = [...name.matchAll(/_/g)].map((m) => m.index + 1);
  if (!breaks.length) return [name];
  const middle = breaks.reduce((best, at) => (Math.abs(at - name.length / 2) < Math.abs(best - name.length / 2) ? at : best));
  return [name.slice(0, middle), name.slice(middle)];
}

const clipped = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
const isBox = (step) => !["record", "wait", "alloc", "free"].includes(step.kind);

function stepWidth(step) {
  if (step.kind === "alloc" || step.kind === "free") return 8;
  if (!isBox(step)) return 34;
  return Math.max(54, Math.max(...twoLines(step.name).map((line) => line.length)) * 7 + 16);
}

// Room above the first lane: more when a red curve runs there.
function topRoom(picture) {
  const red = picture.steps.filter((step) => step.clobbers || step.victim).map((step) => step.stream);
  return red.length > 1 && new Set(red).size === 1 ? 34 : 0;
}

function placed(picture) {
  const top = topRoom(picture);
  let x = LANE.left + LANE.gap;
  return picture.steps.map((step) => {
    const lane = Math.max(0, picture.streams.indexOf(step.stream));
    const place = { step, lane, x, width: stepWidth(step), y: top + lane * LANE.height + LANE.height / 2 };
    place.middle = x + place.width / 2;
    x += place.width + LANE.gap;
    return place;
  });
}

function stepTitle(step) {
  const lines = [`${step.kind} ${step.name} on ${step.stream}`];
  for (const verb of ["reads", "writes"]) {
    if (step[verb].length) lines.push(`${verb} ${step[verb].join(", ")}`);
  }
  return svg("title", null, lines.join("\n"));
}

function badge(place, number) {
  return [
    svg("circle.badge", { cx: place.x + 2, cy: place.y - LANE.box / 2 + 1, r: 8 }),
    svg("text.badge-text", { x: place.x + 2, y: place.y - LANE.box / 2 + 4.5, "text-anchor": "middle" }, String(number)),
  ];
}

function drawBox(place) {
  const { step, x, width, y, middle } = place;
  const kind = step.clobbers ? "clobbers" : step.victim ? "victim" : step.kind === "call" ? "call" : "copy";
  const lines = twoLines(step.name);
  const first = y + 4 - (lines.length - 1) * 6.5;
  return svg(`g.step.${kind}`, null, stepTitle(step),
    svg("rect", { x, y: y - LANE.box / 2, width, height: LANE.box, rx: 5 }),
    lines.map((line, i) => svg("text", { x: middle, y: first + i * 13, "text-anchor": "middle" }, line)),
    step.clobbers ? badge(place, 1) : step.victim ? badge(place, 2) : null);
}

function drawMark(place) {
  const { step, middle, y } = place;
  if (step.kind === "alloc" || step.kind === "free") {
    const end = step.kind === "alloc" ? y - 16 : y + 16;
    return svg(`g.tick`, null, stepTitle(step), svg("line", { x1: middle, y1: y, x2: middle, y2: end }),
      svg("circle", { cx: middle, cy: end, r: 2.5 }));
  }
  return svg("g.event", null, stepTitle(step), svg("circle", { cx: middle, cy: y, r: 5.5, class: step.kind }),
    svg("text", { x: middle, y: place.lane === 0 ? y - 11 : y + 17, "text-anchor": "middle" }, step.kind));
}

// From each record to the waits for the same event that come after it.
function drawWaits(places) {
  const arrows = [];
  places.forEach((from, i) => {
    if (from.step.kind !== "record") return;
    for (const to of places.slice(i + 1)) {
      if (to.step.kind === "record" && to.step.event === from.step.event) break;
      if (to.step.kind !== "wait" || to.step.event !== from.step.event) continue;
      const down = to.y > from.y ? 1 : -1;
      const [y1, y2] = from.y === to.y ? [from.y, to.y] : [from.y + 6 * down, to.y - 9 * down];
      arrows.push(svg("path.wait-arrow", { d: `M${from.middle},${y1} C${from.middle},${(y1 + y2) / 2} ${to.middle},${(y1 + y2) / 2} ${to.middle},${y2}`,
        "marker-end": "url(#arrow)" }));
    }
  });
  return arrows;
}

// What the two red steps dispute: a buffer that the clobbering step writes and the victim reads or writes.
function disputed(places, blame) {
  const clobber = places.find((p) => p.step.clobbers);
  const victim = places.find((p) => p.step.victim);
  if (!clobber || !victim) return null;
  const writes = clobber.step.writes.map(access);
  const touches = [...victim.step.reads, ...victim.step.writes].map(access);
  const write = writes.find((w) => touches.some((t) => t.buffer === w.buffer));
  const buffer = write ? write.buffer : blame && blame.buffer;
  if (!buffer) return null;
  const meant = touches.find((t) => t.buffer === buffer);
  return { buffer, clobber, victim, chunk: meant && meant.chunk, written: write ? write.value : null, meant: meant ? meant.value : blame && blame.value };
}

function drawConflict({ buffer, clobber, victim }) {
  const half = LANE.box / 2;
  let path, x, y, anchor = "middle";
  if (clobber.y === victim.y) {
    const top = clobber.y - half - 2;
    path = `M${clobber.middle},${top} C${clobber.middle},${top - 36} ${victim.middle},${top - 36} ${victim.middle},${top - 5}`;
    [x, y] = [(clobber.middle + victim.middle) / 2, top - 32];
  } else {
    const down = victim.y > clobber.y ? 1 : -1;
    const [y1, y2] = [clobber.y + (half + 2) * down, victim.y - (half + 7) * down];
    path = `M${clobber.middle},${y1} C${clobber.middle},${y2} ${victim.middle},${y1} ${victim.middle},${y2}`;
    const right = victim.middle >= clobber.middle ? 1 : -1;  // the label stands beside the curve, not on it
    [x, y] = [(clobber.middle + victim.middle) / 2 - 12 * right, (y1 + y2) / 2 - (down < 0 ? 6 : -14)];
    anchor = right > 0 ? "end" : "start";
  }
  return svg("g.conflict", null, svg("path", { d: path, "marker-end": "url(#arrow-red)" }),
    svg("text.halo", { x, y, "text-anchor": anchor }, buffer));
}

// The disputed memory as a strip: which value it holds, and who reads it.
function drawMemory(dispute, places, y, right) {
  const there = (a) => a.buffer === dispute.buffer && (!a.chunk || !dispute.chunk || a.chunk === dispute.chunk);
  const uses = places.filter(({ step }) => isBox(step)).map((place) => ({
    place, write: place.step.writes.map(access).find(there), read: place.step.reads.map(access).find(there),
  })).filter((use) => use.write || use.read);
  const first = uses[0];
  let holds = first && first.read ? first.read.value : "nothing yet";
  const segments = [{ from: LANE.left, text: `holds ${holds}`, kind: "good" }];
  const reads = [];
  for (const { place, write, read } of uses) {
    if (read) reads.push({ place, wrong: read.value !== holds || place === dispute.victim });
    if (write) {
      holds = write.value;
      const right = place !== dispute.clobber || holds === dispute.meant;
      segments.push(right && place === dispute.clobber ? { from: place.middle, text: `${holds}, since when?`, kind: "unsure" }
        : { from: place.middle, text: `holds ${holds}`, kind: right ? "good" : "bad" });
    }
  }
  return svg("g.memory", null,
    svg("text.lane-name", { x: 8, y: y + 9 }, "memory"), svg("text.lane-note", { x: 8, y: y + 22 }, clipped(dispute.buffer, 15)),
    segments.map((segment, i) => {
      const end = i + 1 < segments.length ? segments[i + 1].from : right;
      return [svg("rect", { x: segment.from, y, width: Math.max(0, end - segment.from), height: 24, class: segment.kind }),
        end - segment.from > segment.text.length * 6.8 + 12 ? svg("text", { x: segment.from + 8, y: y + 16 }, segment.text) : null];
    }),
    reads.map(({ place, wrong }) => svg("path", { class: wrong ? "read wrong" : "read",
      d: `M${place.middle},${place.y + LANE.box / 2 + 3} V${y - 3}` })));
}

function arrowHead(id, name) {
  return svg("marker", { id, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg(`path.${name}`, { d: "M0,0 L8,4 L0,8 Z" }));
}

function caption(dispute, record) {
  const { buffer, clobber, victim, written, meant } = dispute;
  const edge = (record.hazards || []).map((hazard) => hazard.edge_missing).find(Boolean);
  const order = edge ? `Nothing orders the two: ${edge}.` : "The second comes after the first, so it meets the wrong content.";
  return h("p.caption", null, h("b.red", null, "1 "), h("code", null, clobber.step.name), " writes ",
    h("code", null, written || "data"), written === buffer ? "" : [" into the memory of ", h("code", null, buffer)], ". ",
    h("b.red", null, "2 "), h("code", null, victim.step.name), " needs ", h("code", null, meant || buffer), " there. ", order);
}

function legend(hasConflict) {
  const item = (name, text) => h("span.key", null, h(`i.swatch.${name}`), text);
  return h("p.legend", null, item("call", "op"), item("copy", "copy or fill"), item("event", "record → wait"), item("tick", "alloc, free"),
    hasConflict ? [item("clobbers", "1 the write in question"), item("victim", "2 the op it harms")] : null,
    h("span.muted", null, "in the order of issue, left to right; hover for reads and writes"));
}

function drawPicture(record) {
  const packed = report.pictures[record.picture];
  if (!packed || !packed.steps.rows.length) return null;
  const picture = { streams: packed.streams, steps: unpacked(packed.steps) };
  const places = placed(picture);
  const dispute = disputed(places, record.blame);
  const last = places[places.length - 1];
  const width = last.x + last.width + 14;
  const top = topRoom(picture);
  const bottom = top + picture.streams.length * LANE.height;
  const height = bottom + (dispute ? 46 : 6);
  const label = `Streams ${picture.streams.join(" and ")}: ${picture.steps.filter(isBox).map((s) => s.name).join(", ")}`;
  const image = svg("svg.picture", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    svg("defs", null, arrowHead("arrow", "head"), arrowHead("arrow-red", "head-red"),
      svg("pattern", { id: "unsure", width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("path.unsure-line", { d: "M0,0 V8" }))),
    picture.streams.map((stream, i) => {
      const y = top + i * LANE.height + LANE.height / 2;
      return [svg("line.lane", { x1: LANE.left, y1: y, x2: width - 4, y2: y }), svg("text.lane-name", { x: 8, y: y + 4 }, stream)];
    }),
    dispute ? drawMemory(dispute, places, bottom + 8, width - 4) : null,
    drawWaits(places), places.map((place) => (isBox(place.step) ? drawBox(place) : drawMark(place))),
    dispute ? drawConflict(dispute) : null);
  return h("figure", null, dispute ? caption(dispute, record) : null, h("div.scroll", { tabindex: 0, "aria-label": "stream picture" }, image),
    legend(Boolean(dispute)));
}
