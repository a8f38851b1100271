// Runs the trace processor of the Perfetto UI, a WebAssembly module made for web workers, as a
// program. Argument: the folder with engine_bundle.js and the modules. stdin and stdout are streams
// of its remote calls (TraceProcessorRpcStream).
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const folder = process.argv[2];
const read = (name) => fs.readFileSync(path.join(folder, path.basename(name)));
const self = { location: { href: "file:///engine_bundle.js" } };
class XMLHttpRequest {
  open(_method, name) {
    this.name = name;
  }
  send() {
    this.response = read(this.name);
    this.status = 200;
    this.onload?.();
  }
}
const worker = {
  self,
  XMLHttpRequest,
  process: undefined, // the bundle refuses to run where it finds Node
  WorkerGlobalScope: class {},
  console: { log() {}, warn() {}, error() {} },
  fetch: async (name) =>
    new Response(read(name), { headers: { "Content-Type": "application/wasm" } }),
};

// The first thing done once the module stands is to enter the reply's function in its table.
const enter = WebAssembly.Table.prototype.set;
const isReady = new Promise((resolve) => {
  WebAssembly.Table.prototype.set = function (...values) {
    enter.apply(this, values);
    setImmediate(resolve);
  };
});

new Function(...Object.keys(worker), read("engine_bundle.js").toString("utf8"))(
  ...Object.values(worker),
);
const port = { postMessage: (bytes) => fs.writeSync(1, bytes) };
self.onmessage({ data: port });
isReady.then(() => {
  process.stdin.on("data", (chunk) => port.onmessage({ data: new Uint8Array(chunk) }));
});
