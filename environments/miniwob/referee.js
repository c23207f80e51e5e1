// Runs right after MiniWoB's core.js, before the page's own scripts, and decides what counts.
// One episode a page: it begins by itself, as the seed in the address says, and its first end is final. Pages give the
// agent a button to start anew after a failure; here nothing starts a second time.
(() => {
  const seed = new URLSearchParams(location.search).get("seed");
  if (seed === null) return; // a part of a page, such as the airline's form inside its frame
  Math.seedrandom(seed);
  const post = (fields) =>
    fetch("/_elcano/episode", {
      method: "POST",
      keepalive: true,
      body: JSON.stringify({ page: location.pathname + location.search, ...fields }),
    });
  const ready = (then) => (WOB_TASK_READY ? then() : setTimeout(() => ready(then), 50));

  const begin = () => {
    const start = core.startEpisodeReal;
    const end = core.endEpisode;
    let over = false;
    core.startEpisode = () => {}; // `end` calls it to offer another episode
    core.startEpisodeReal = () => {};
    core.endEpisode = (reward, proportional, reason) => {
      if (over) return;
      over = true;
      end.call(core, reward, false, reason);
      post({ done: true, raw_reward: WOB_RAW_REWARD_GLOBAL, reason: reason === undefined ? "" : String(reason) });
      core.cover_div.innerHTML = "The episode is over.";
      core.cover_div.onclick = null;
      core.cover_div.style.display = "block";
    };
    core.EPISODE_MAX_TIME = 1e9; // a model thinks longer than ten seconds; the number of steps is the limit
    Math.seedrandom(seed);
    start.call(core);
    core.hideDisplay();
    ready(() => {
      const said = core.getUtterance();
      const utterance = typeof said === "string" ? said : said.utterance;
      post({ utterance, num_elements: document.querySelectorAll("body *").length });
    });
  };
  addEventListener("load", () => setTimeout(begin)); // after the page's own `onload`, which draws the start button
})();
