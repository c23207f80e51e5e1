// Small pictures of figures: a line with its last value, and success by round with intervals.
import { UNUSABLE, figure, h, percent, svg, told } from "./dom.js";

const WIDTH = 280, HEIGHT = 90, LEFT = 74, SMOOTH = 50; // points of a running mean

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// Of [x, y], each with a link for the mouse where `linkOf` x says one; where y is null there was a number that cannot be drawn: it is counted.
export function curve(name, all, along = "step", linkOf = null) {
  const points = all.filter(([, y]) => y !== null), lost = all.filter(([, y]) => y === null);
  const ys = points.map(([, y]) => y), xs = all.map(([x]) => x);
  const [low, high, first, last] = [Math.min(...ys), Math.max(...ys), Math.min(...xs), Math.max(...xs)];
  const x = (value) => LEFT + 4 + ((value - first) / (last - first || 1)) * (WIDTH - LEFT - 10);
  const isLog = name.endsWith("loss") && low > 0 && high > 10 * low, scaled = isLog ? Math.log : (value) => value;
  const y = (value) => HEIGHT - 6 - ((scaled(value) - scaled(low)) / (scaled(high) - scaled(low) || 1)) * (HEIGHT - 12);
  const joined = (some) => some.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" "), line = joined(points);
  const travelled = ys.reduce((sum, value, at) => sum + Math.abs(value - (ys[at - 1] ?? value)), 0);
  const isNoisy = points.length >= 2 * SMOOTH && travelled > 5 * (high - low);
  const means = isNoisy ? points.map(([at], place) => [at, mean(ys.slice(Math.max(0, place + 1 - SMOOTH), place + 1))]) : [];
  const newest = `last ${told(all.at(-1)[1])}${isNoisy ? `, mean of the last ${SMOOTH} points ${figure(means.at(-1)[1])}` : ""}`;
  const missing = lost.length ? `; ${UNUSABLE} at ${lost.length} of ${all.length} points, ${along} ${lost[0][0]}${lost.length > 1 ? ` to ${lost.at(-1)[0]}` : ""}` : "";
  const said = `${name}: ${newest}${points.length ? ` (${figure(low)} to ${figure(high)})` : ""}${missing}`;
  const text = (place, words) => svg("text", place, words);
  return h("figure", { class: "curve" }, h("figcaption", {}, h("strong", {}, name), `: ${newest}${isLog ? "; log scale" : ""}${missing}`),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + 14}`, role: "img", "aria-label": said },
      points.length > 0 && text({ x: LEFT - 4, y: 12, "text-anchor": "end" }, figure(high)), low < high && text({ x: LEFT - 4, y: HEIGHT - 3, "text-anchor": "end" }, figure(low)),
      text({ x: LEFT, y: HEIGHT + 11 }, `${along} ${first}`), last > first && text({ x: WIDTH - 4, y: HEIGHT + 11, "text-anchor": "end" }, last),
      svg("path", { d: `M${LEFT} 4V${HEIGHT - 3}H${WIDTH - 4}`, class: "axis" }),
      svg("polyline", { points: line, class: isNoisy ? "line faint" : "line" }),
      isNoisy && svg("polyline", { points: joined(means), class: "line mean" }),
      lost.map(([at]) => svg("path", { d: `M${x(at).toFixed(1)} ${HEIGHT - 8}v5`, class: "lost" })),
      (points.length < 40 || linkOf) && points.map(([at, value]) => {
        const dot = svg("circle", { cx: x(at), cy: y(value), r: 2.5, class: "dot" });
        return linkOf ? svg("a", { href: linkOf(at), tabindex: -1, "aria-label": `${along} ${at}: ${figure(value)}` }, dot) : dot;
      })));
}

export function rates(rounds) {
  const step = 110, width = step * rounds.length + 40, height = 210;
  const y = (share) => 180 - 160 * share;
  const marks = rounds.map((round, number) => {
    const x = 40 + step * number + step / 2, [low, high] = round.interval ?? [round.rate, round.rate];
    return [
      svg("line", { x1: x, x2: x, y1: y(low), y2: y(high), class: "interval" }),
      svg("circle", { cx: x, cy: y(round.rate), r: 4, class: "dot" }),
      svg("text", { x, y: y(high) - 6, "text-anchor": "middle" }, percent(round.rate)),
      svg("text", { x, y: 200, "text-anchor": "middle" }, round.name.slice(0, 16)),
    ];
  });
  const line = rounds.map((round, number) => `${40 + step * number + step / 2},${y(round.rate)}`).join(" ");
  const said = rounds.map((round) => `${round.name} ${percent(round.rate)}`).join(", ");
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `success by round: ${said}` },
    [0, 0.5, 1].map((share) => [
      svg("line", { x1: 40, x2: width, y1: y(share), y2: y(share), class: "grid" }),
      svg("text", { x: 34, y: y(share) + 4, "text-anchor": "end" }, `${100 * share}`)]),
    svg("polyline", { points: line, class: "line" }), marks);
}
