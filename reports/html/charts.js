// Error per stage and per token, drawn with plain elements so that they wrap, print and can be read aloud.
const MODES = {
  local: "from the inputs the step was meant to read: this decides",
  as_read: "from the bytes it really read: small means that the arithmetic is right and the input was wrong",
  chained: "end to end, from the case's inputs",
};
const BUDGET_SCALE = { least: -3, most: 3 };  // decades shown

function budgetPosition(value) {
  if (value === null) return 100;
  if (value <= 0) return 0;
  const { least, most } = BUDGET_SCALE;
  return Math.min(100, Math.max(1, ((Math.log10(value) - least) / (most - least)) * 100));
}

function budgetWords(stage) {
  if (stage.not_comparable) return "not compared";
  if (stage.not_finite) return `${stage.not_finite} not finite`;
  if (stage.routing_wrong) return "wrong expert";
  if (stage.budget_used === 0) return "0";  // the nearest value of the format, for every element
  return short(stage.budget_used);
}

function stageRow(stage) {
  const chunk = stage.chunk === null ? "" : ` [${stage.chunk}]`;
  const beyond = stage.beyond_statistical ? `${stage.beyond_statistical} of ${stage.compared} beyond` : `${stage.compared} compared`;
  const notes = [stage.not_comparable, stage.exact && !stage.not_comparable && "exact", stage.failed && stage.sufficient_tolerance > 0 && `tolerance ${short(stage.sufficient_tolerance)} would have passed`, stage.flippable && `${stage.flippable} flippable`, stage.near_ties && plural(stage.near_ties, "near-tie", "near-ties")]
    .filter(Boolean).join(", ");
  return h(stage.failed ? "tr.failed" : "tr", null,
    h("th", { scope: "row" }, h("span.stage-name", null, stage.stage + chunk), stage.value === stage.stage ? null : h("span.muted", null, " " + stage.value)),
    h("td.mode", null, stage.mode.replace("_", " ")),
    h("td.bar-cell", null, h("div.bar-track", null,
      h(`div.bar.${stage.mode}${stage.failed ? ".over" : ""}`, { style: `width:${budgetPosition(stage.budget_used)}%` }), h("div.limit"))),
    h("td.number", null, budgetWords(stage)),
    h("td.muted.note", null, notes ? `${beyond}, ${notes}` : beyond));
}

function drawStages(stages) {
  if (!stages.length) return null;
  const order = Object.keys(MODES);
  const used = order.filter((mode) => stages.some((stage) => stage.mode === mode));
  const sorted = [...stages].sort((a, b) => a.step - b.step || order.indexOf(a.mode) - order.indexOf(b.mode));
  return h("div", null,
    h("table.stages", null,
      h("thead", null, h("tr", null, ["stage, value", "against"].map((t) => h("th", { scope: "col" }, t)),
        h("th.scale", { scope: "col" }, h("div.scale-marks", null, h("span", null, "0.001"), h("span.one", null, "1 = limit"), h("span", null, "1000"))),
        h("th.number", { scope: "col" }, "budget used"), h("th", { scope: "col" }, ""))),
      h("tbody", null, sorted.map(stageRow))),
    h("p.legend", null, used.map((mode) => h("span.key", null, h(`i.swatch.bar.${mode}`), h("b", null, mode.replace("_", " ")), " ", MODES[mode]))));
}

// Five decades of error as five strengths of colour.
function heatLevel(error) {
  if (error === null) return 6;
  if (error === 0) return 0;
  return Math.min(5, Math.max(1, Math.floor(Math.log10(error)) + 6));
}

function heatCell(error, first, perCell) {
  const tokens = perCell === 1 ? `token ${first}` : `tokens ${first} to ${first + perCell - 1}`;
  return h(`i.heat.level${heatLevel(error)}`, { title: `${tokens}: ${short(error)}` });
}

function drawHeat(stages, heat) {
  const shown = stages.map((stage, i) => ({ stage, heat: heat[i] })).filter((row) => row.heat).slice(0, 12);
  if (!shown.length) return null;
  return h("div", null,
    h("table.heat-table", null, h("tbody", null, shown.map(({ stage, heat: strip }) => h("tr", null,
      h("th", { scope: "row" }, h("span.stage-name", null, stage.value), h("span.muted", null, ` ${stage.mode.replace("_", " ")}`)),
      h("td", null, h("div.strip", null, strip.cells.map((error, i) => heatCell(error, i * strip.tokens_per_cell, strip.tokens_per_cell)))),
      h("td.muted", null, stage.worst_tokens.length ? `worst: ${stage.worst_tokens.join(", ")}` : ""))))),
    h("p.legend", null, h("span.muted", null, "token 0 at the left; error over the largest expected value"),
      ["0", "< 1e-4", "< 1e-3", "< 0.01", "< 0.1", "0.1 and more", "not finite"].map((text, level) =>
        h("span.key", null, h(`i.heat.level${level}`), text))));
}
