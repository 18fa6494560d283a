// The overview: cases as squares in a table of any two axes.
const axisValue = (record, axis) => {
  if (axis === "scenario") return record.scenario;
  if (axis === "cause") return record.cause || "no cause";
  const value = record.axes[axis];
  return value === undefined ? "not set" : String(value);
};

const caseEntries = entries.filter((entry) => entry.record.kind === "case");

// Axes that tell at least two cases apart.
function matrixAxes() {
  const names = new Set(["scenario", "cause"]);
  for (const { record } of caseEntries) Object.keys(record.axes).forEach((name) => names.add(name));
  return [...names].filter((name) => distinct(name).length > 1);
}

function distinct(axis) {
  const values = [...new Set(caseEntries.map((entry) => axisValue(entry.record, axis)))];
  return axis === "scenario" ? values : values.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

function square(entry) {
  return h(`a.square.${entry.outcome}`, { href: linkTo(entry.key), tabindex: -1, title: `${outcomeText(entry.record)}: ${entry.name}` });
}

function cellWords(cell) {
  return OUTCOMES.map((outcome) => [outcome, cell.filter((entry) => entry.outcome === outcome).length])
    .filter(([, count]) => count).map(([outcome, count]) => `${count} ${outcome}`).join(", ");
}

function matrixCell(cell) {
  if (!cell.length) return h("td", null, h("span.none", { "aria-label": "no case" }, "·"));
  return h("td", { "aria-label": cellWords(cell) }, h("div.squares", null, cell.map(square)));
}

function drawMatrix(rowAxis, columnAxis) {
  const columns = distinct(columnAxis);
  const at = new Map();
  for (const entry of caseEntries) {
    const key = JSON.stringify([axisValue(entry.record, rowAxis), axisValue(entry.record, columnAxis)]);
    if (!at.has(key)) at.set(key, []);
    at.get(key).push(entry);
  }
  byId("matrix").replaceChildren(
    h("thead", null, h("tr", null, h("td.corner", null, `${rowAxis} \\ ${columnAxis}`), columns.map((c) => h("th", { scope: "col" }, c)))),
    h("tbody", null, distinct(rowAxis).map((row) => h("tr", null, h("th", { scope: "row" }, row),
      columns.map((column) => matrixCell(at.get(JSON.stringify([row, column])) || []))))));
}

function startMatrix() {
  const axes = matrixAxes();
  if (!axes.length) axes.push("scenario");
  const pick = (wished, other) => wished.find((name) => axes.includes(name) && name !== other) || axes.find((name) => name !== other) || axes[0];
  const rows = pick(["scenario", "order"]);
  const columns = pick(["effective_stream", "in_place", "cause"], rows);
  for (const [id, chosen] of [["matrix-rows", rows], ["matrix-columns", columns]]) {
    byId(id).replaceChildren(...axes.map((name) => h("option", { value: name, selected: name === chosen }, name)));
    byId(id).addEventListener("change", () => drawMatrix(byId("matrix-rows").value, byId("matrix-columns").value));
  }
  drawMatrix(rows, columns);
}
