"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const plot = document.getElementById("plot");
  const state = { metric: data.chosen, track: 0, band: document.querySelector("button[data-band][aria-pressed=true]").dataset.band };
  const extra = { height: plot.clientHeight, top: 0 }; // of the picture, and what the names of its lines need over it
  const ink = "#222", quiet = "#666", hair = "#e3e3e3";
  const several = data.tracks.length > 1;
  const leastTop = several ? 104 : 68; // pixels over the curves
  const longest = 40; // letters of a name in a heading
  const manySteps = 1500; // more error bars than that are drawn as one ribbon

  // Plotly reads some tags in texts: names are shown as they are
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const faint = (colour, alpha) =>
    `rgba(${[1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)).join(",")},${alpha})`;
  const isNarrow = () => plot.clientWidth < 760;
  const colourOf = (i) => data.palette[i % data.palette.length];
  const stepsOf = data.tracks.map((track) => String(track.steps));
  const differ = new Set(stepsOf).size > 1; // a line's nearest step may then be another than the heading's
  const known = (...values) => values.every((value) => value !== null); // what is no number came as null
  const dashOf = (i) => ["solid", "dash", "dot", "dashdot"][Math.floor(i / data.palette.length) % 4];

  // how numbers are written, by the size of the curve: so many decimals of shares, fewer of money, powers of tiny ones
  function formatOf(mean, decimals) {
    const size = mean.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (size > 0 && size < 0.01) return `.${decimals - 1}e`;
    return size < 10 ? `.${decimals}f` : `,.${Math.max(0, decimals - Math.floor(Math.log10(size)))}f`;
  }

  function curves() {
    const traces = [];
    data.tracks.forEach((track, i) => {
      const found = track.metrics[state.metric];
      if (!found) return;
      const colour = several ? colourOf(i) : colourOf(0);
      const mode = track.steps.length <= 15 ? "lines+markers" : "lines";
      const group = { legendgroup: `curve${i}`, xaxis: "x", yaxis: "y" }; // a click on a name takes its band along
      const [low, high] = found.bands[state.band] || [null, null];
      if (low) {
        const edge = { ...group, x: track.steps, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
        traces.push({ ...edge, y: low }, { ...edge, y: high, fill: "tonexty", fillcolor: faint(colour, 0.15) });
      }
      if (found.hard && !several) {
        traces.push({
          xaxis: "x", yaxis: "y", x: track.steps, y: found.hard, name: plain(found.hardName), mode,
          line: { color: "#8c8c8c", width: 1.1 }, hovertemplate: `%{y:${formatOf(found.hard, 4)}}`, showlegend: true,
        });
      }
      const format = formatOf(found.mean, 4);
      const interval = `[%{customdata[0]:${format}}, %{customdata[1]:${format}}]`;
      const value = differ ? `%{y:${format}} with %{x:,d} trees` : `%{y:${format}}`;
      const ends = (low || []).map((end, j) => [end, high[j]]);
      traces.push({
        ...group, x: track.steps, y: found.mean, name: plain(several ? track.name : state.metric),
        mode, line: { color: colour, width: 2.4, dash: dashOf(i) },
        customdata: ends, showlegend: several || Boolean(found.hard),
        hovertemplate: found.mean.map((_, j) => (low && known(...ends[j]) ? `${value}  ${interval}` : value)),
      });
      traces.push({
        ...group, x: [track.steps[found.best]], y: [found.mean[found.best]], mode: "markers", hoverinfo: "skip",
        marker: { size: 11, color: "#fff", line: { color: colour, width: 2.2 } }, showlegend: false,
      });
    });
    return traces;
  }

  function changes() {
    const track = data.tracks[state.track];
    const found = track.metrics[state.metric];
    if (!found || !found.effects) return [];
    const { change, error, low, high, kinds } = found.effects;
    const many = track.steps.length;
    const share = plot.clientWidth / many;
    const format = formatOf(found.mean, 5);
    const estimate = `%{y:+${format}} ± %{customdata[0]:${format}}  [%{customdata[1]:+${format}}, %{customdata[2]:+${format}}]`;
    const traces = [];
    if (many > manySteps) {
      const edge = { x: track.steps, xaxis: "x2", yaxis: "y2", mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
      traces.push({ ...edge, y: low }, { ...edge, y: high, fill: "tonexty", fillcolor: faint(data.kinds.unsure, 0.25) });
    }
    for (const kind of ["helps", "unsure", "hurts"]) {
      const colour = data.kinds[kind];
      const at = kinds.flatMap((other, i) => (other === kind ? [i] : []));
      const pick = (values) => (at.length ? at.map((i) => values[i]) : [null]); // an empty one would leave the legend
      const bounded = (i) => known(low[i], high[i]);
      const bars = many > manySteps ? undefined : {
        type: "data", symmetric: false, width: 0, color: faint(colour, kind === "unsure" ? 0.4 : 0.75),
        thickness: Math.max(0.6, Math.min(2, 0.5 * share)),
        array: at.map((i) => (bounded(i) ? high[i] - change[i] : 0)),
        arrayminus: at.map((i) => (bounded(i) ? change[i] - low[i] : 0)),
      };
      traces.push({
        x: pick(track.steps), y: pick(change), xaxis: "x2", yaxis: "y2", mode: "markers", legend: "legend2",
        name: `${at.length.toLocaleString("en")} ${{ helps: "help", hurts: "hurt", unsure: "unsure" }[kind]}`,
        marker: { color: colour, size: Math.max(2, Math.min(7, 0.9 * share)) }, error_y: bars, hoverinfo: "skip",
      });
    }
    // one trace of all steps answers the mouse: each of the three would with its own nearest step
    const ends = change.map((_, i) => [error[i], low[i], high[i]]);
    traces.push({
      x: track.steps, y: change, xaxis: "x2", yaxis: "y2", mode: "markers", marker: { opacity: 0 }, showlegend: false,
      name: "change", customdata: ends, hovertemplate: ends.map((all) => (known(...all) ? estimate : `%{y:+${format}}`)),
    });
    return traces;
  }

  const brief = (name) => (name.length > longest ? `${name.slice(0, longest / 2)}…${name.slice(1 - longest / 2)}` : name);

  function beyond(effects, narrow) {
    const outside = (value) => value !== null && (value < effects.range[0] || value > effects.range[1]);
    const count = effects ? effects.change.filter(outside).length : 0;
    if (!count) return "";
    return `; ${count} beyond${narrow ? "" : `, double-click to see ${count > 1 ? "them" : "it"}`}`;
  }

  function layout() {
    const shown = data.tracks.map((track) => track.metrics[state.metric]).filter(Boolean);
    const range = [Math.min(...shown.map((f) => f.ranges[state.band][0])), Math.max(...shown.map((f) => f.ranges[state.band][1]))];
    const found = data.tracks[state.track].metrics[state.metric];
    const effects = found && found.effects;
    const first = Math.min(...data.tracks.map((track) => track.steps[0]));
    const last = Math.max(...data.tracks.map((track) => track.steps[track.steps.length - 1]));
    const room = Math.max(0.012 * (last - first), last - first < 30 ? 0.4 : 0);
    const axis = { gridcolor: hair, zeroline: false, tickfont: { color: quiet }, automargin: true, exponentformat: "e" };
    const trees = { ...axis, showgrid: false, range: [first - room, last + room], tickformat: ",d", hoverformat: ",d", minallowed: first - room, maxallowed: last + room, uirevision: "trees" };
    if (last - first < 30) trees.dtick = last - first < 15 ? 1 : 5;
    const heading = (text, y) => ({ text, xref: "paper", yref: "paper", x: 0, y, xanchor: "left", yanchor: "bottom", showarrow: false, font: { size: 14, color: quiet } });
    const narrow = isNarrow();
    const stacked = narrow || several; // the names of lines, or how many steps help, go over the headings
    const owner = several ? ` (${plain(brief(data.tracks[state.track].name))})` : "";
    const legend = { orientation: "h", x: 1, xanchor: "right", yanchor: "bottom", font: { size: 13 }, bgcolor: "rgba(0,0,0,0)", itemsizing: "constant" };
    return {
      font: { family: 'system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif', size: 13, color: ink },
      margin: { l: 64, r: 12, t: leastTop + extra.top, b: 44 }, height: extra.height + extra.top, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
      hovermode: "x unified", hoverlabel: { font: { size: 12.5 } }, dragmode: "zoom",
      xaxis: { ...trees, anchor: "y", matches: "x2", showticklabels: false, unifiedhovertitle: { text: "%{x:,d} trees" } },
      xaxis2: { ...trees, anchor: "y2", title: { text: "trees", font: { color: quiet, size: 13 } }, unifiedhovertitle: { text: data.tracks[state.track].treeByTree ? "tree %{x:,d}" : "step to %{x:,d} trees" } },
      yaxis: { ...axis, domain: [stacked ? 0.5 : 0.47, 1], range, uirevision: `${state.metric} ${state.band}` },
      yaxis2: { ...axis, domain: [0, 0.385], range: effects ? effects.range : [-1, 1], tickformat: "~g", zeroline: true, zerolinecolor: ink, zerolinewidth: 1, uirevision: `${state.metric} ${state.track}` },
      legend: { ...legend, y: stacked ? 1.04 : 1.005 }, legend2: { ...legend, y: stacked ? 0.418 : 0.39 },
      annotations: [
        heading(narrow ? "Mean (ring: the best step)" : `Mean of ${plain(state.metric)} (ring: the best step)`, 1.005),
        heading(`${effects ? "Change" : "No change"}${narrow ? "" : ` of ${plain(state.metric)}`} by step${owner}${beyond(effects, narrow)}`, 0.39),
      ],
    };
  }

  // the names of many lines get room of their own, between the buttons over the picture and the curves
  function makeRoom() {
    const names = plot.querySelector(".legend .scrollbox");
    const { _size: { h }, legend } = plot._fullLayout;
    const buttons = isNarrow() ? 4 : 28;
    const needed = names ? names.getBBox().height + 12 + (legend.y - 0.995) * h + buttons : 0;
    const top = Math.max(0, Math.ceil(needed) - leastTop);
    if (top === extra.top) return null;
    extra.top = top;
    plot.style.height = `${extra.height + top}px`;
    return picture();
  }

  function draw() {
    for (const view of document.querySelectorAll(".view")) {
      view.hidden = view.dataset.metric !== state.metric || Number(view.dataset.track) !== state.track;
    }
    for (const button of document.querySelectorAll("button[data-metric], button[data-track], button[data-band]")) {
      const [[kind, value]] = Object.entries(button.dataset);
      button.setAttribute("aria-pressed", String(String(state[kind]) === value));
      if (kind === "metric") button.disabled = !(value in data.tracks[state.track].metrics);
    }
    picture().then(makeRoom).then(() => {
      plot.dataset.drawn = `${state.track} ${state.metric} ${state.band}`; // for whoever waits for the picture
    });
  }

  function picture() {
    const options = {
      responsive: true, displaylogo: false, displayModeBar: isNarrow() ? false : "hover", modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    };
    return Plotly.react(plot, [...curves(), ...changes()], layout(), options);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".switch button");
    if (!button) return;
    const [[kind, value]] = Object.entries(button.dataset);
    state[kind] = kind === "track" ? Number(value) : value;
    const known = data.tracks[state.track].metrics;
    if (!(state.metric in known)) state.metric = Object.keys(known)[0];
    draw();
  });
  draw();
})();
