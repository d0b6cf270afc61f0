// With a server (`tesselite watch`): ask it for updates every few seconds.
"use strict";
{
  let stamp = "";

  const poll = async () => {
    const { seconds } = Page.document.live;
    let update = null;
    try {
      const answer = await fetch(`update?since=${encodeURIComponent(stamp)}`, { cache: "no-store" });
      if (answer.status === 200) update = await answer.json();
      else if (answer.status !== 204) throw new Error(`the server answered ${answer.status}`);
      if (Page.by("state").dataset.state === "gone") Page.state(Page.document.runs.length ? Page.document.runs[0].state : "none");
    } catch {
      Page.state("gone", "server gone");
    }
    if (update) await take(update).catch(Page.failed); // what cannot be drawn is no fault of the server
    setTimeout(poll, 1000 * seconds);
  };

  const take = async (update) => {
    const block = await Page.inflate(update.block);
    const live = Page.document.live;
    stamp = update.stamp;
    Page.document = { ...Page.unpack(update.document, block), live };
    await Page.show();
    document.body.dataset.updates = String(1 + +(document.body.dataset.updates || 0));
  };

  // Views are not in the page: they are requested one by one.
  Page.live = () => {
    stamp = Page.document.live.stamp;
    setTimeout(poll, 1000 * Page.document.live.seconds);
    Page.ask_view = async (run, row, scenario) => {
      const answer = await fetch(`elite?niche=${run.archive.niches[row]}&scenario=${encodeURIComponent(scenario)}`, { cache: "no-store" });
      if (answer.status !== 200) return null;
      const { document: described, block } = await answer.json();
      return [Page.unpack(described, await Page.inflate(block)), 0];
    };
  };
}
