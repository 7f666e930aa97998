// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Buffers, workers, shared and WebAssembly memory, children and garbage: what it prints is the same in each run.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { execFileSync, fork } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const zlib = require('zlib');

const digest = (b) => crypto.createHash('sha256').update(b).digest('hex').slice(0, 16);
const blob = (seed, size) => crypto.createHash('shake128', { outputLength: size }).update(String(seed)).digest();

function churn(seed) {
	const kept = [];
	for (let i = 0; i < 100; i++) {
		const b = Buffer.allocUnsafe(100000 * (1 + i % 5));
		blob(seed + i, b.length).copy(b);
		kept.push(b);
		if (kept.length > 10)
			kept.splice(i % 9, 1);
	}
	return digest(Buffer.concat(kept));
}

async function main() {
	const shared = new SharedArrayBuffer(1 << 20);
	const workers = [0, 1, 2, 3].map((seed) => new Promise((done, bad) => {
		const w = new Worker(__filename, { workerData: { seed, shared } });
		w.on('message', done);
		w.on('error', bad);
	}));
	for (let i = 0; i < 4; i++)
		console.log('program', execFileSync('cksum', { input: blob(i, 2000000) }).toString().trim());
	const child = await new Promise((done) => {
		const c = fork(__filename, ['child'], { serialization: 'advanced' });
		c.on('message', (m) => { c.disconnect(); done(digest(m)); });
		c.send(blob(11, 1000000));
	});
	console.log('child', child);
	console.log('workers', (await Promise.all(workers)).join(' '));
	console.log('shared', digest(Buffer.from(shared)));
	const wasm = new WebAssembly.Memory({ initial: 16, maximum: 256 });
	new Uint8Array(wasm.buffer).set(blob(12, 1 << 20));
	wasm.grow(48);
	console.log('wasm', wasm.buffer.byteLength, digest(Buffer.from(wasm.buffer)));
	const big = blob(13, 5000000);
	console.log('zlib', digest(zlib.gunzipSync(zlib.gzipSync(big))));
	const maps = fs.readFileSync('/proc/self/maps', 'utf8').split('\n');
	console.error('ruse-memory', maps.filter((l) => l.includes('/memfd:ruse-memory')).length);
}

if (!isMainThread) {
	new Uint8Array(workerData.shared).fill(workerData.seed + 1, workerData.seed << 18, (workerData.seed + 1) << 18);
	parentPort.postMessage(churn(1000 * workerData.seed));
} else if (process.argv[2] === 'child') {
	process.once('message', (m) => process.send(Buffer.concat([m, blob(14, 1000000)])));
} else {
	main();
}
