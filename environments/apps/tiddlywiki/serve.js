/*
Serves a wiki with TiddlyWiki: serve.js TIDDLYWIKI FOLDER PORT USER CONTROL

TiddlyWiki writes its pages to files a moment after a browser has sent them, and does not read them again. So it listens
on a socket of the folder, too. There "flush" answers once all is written, and "restore" once all is as it began.
*/
"use strict";

const net = require("net");
const path = require("path");
const [program, folder, port, user, control] = process.argv.slice(2);
const POLL_MS = 5;

const $tw = require(path.join(program, "boot", "boot.js")).TiddlyWiki();
$tw.boot.argv = [folder, "--listen", "host=127.0.0.1", `port=${port}`, `anon-username=${user}`];
$tw.boot.boot(() => {
	const begun = tiddlers();
	process.chdir(folder); // the path of a socket is short
	net.createServer((client) => {
		client.on("error", () => {});
		client.once("data", (asked) => {
			if(asked.toString() === "restore") restore(begun);
			written(() => client.end("done"));
		});
	}).listen(control);
});

function tiddlers() {
	const found = new Map();
	$tw.wiki.each((tiddler, title) => found.set(title, tiddler));
	return found;
}

function restore(begun) {
	for(const title of tiddlers().keys()) {
		if(!begun.has(title)) $tw.wiki.deleteTiddler(title);
	}
	for(const [title, tiddler] of begun) {
		if($tw.wiki.getTiddler(title) !== tiddler) $tw.wiki.addTiddler(tiddler);
	}
}

/* After what has changed is known to the syncer, which is told so with the next tick. */
function written(then) {
	setTimeout(() => {
		const idle = $tw.syncer.numTasksInProgress === 0 && !$tw.syncer.isDirty();
		if(idle) then(); else written(then);
	}, POLL_MS);
}
