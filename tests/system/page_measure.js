// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What page.py finds out inside the page: one expression, whose value is the result.
(() => {
	const css = (e) => getComputedStyle(e);
	const short = (s) => s.trim().replace(/\s+/g, " ").slice(0, 60);
	const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });

	// The part of the plane in which the content of e can be seen: ancestors cut off or scroll.
	const areas = new Map();
	function area(e) {
		if (!e)
			return { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
		if (areas.has(e))
			return areas.get(e);
		let a = area(e.parentElement);
		const s = css(e), x = s.overflowX !== "visible", y = s.overflowY !== "visible";
		if ((x || y) && e !== document.documentElement && e !== document.body) {
			const r = e.getBoundingClientRect();
			a = {
				left: x ? Math.max(a.left, r.left) : a.left, right: x ? Math.min(a.right, r.right) : a.right,
				top: y ? Math.max(a.top, r.top) : a.top, bottom: y ? Math.min(a.bottom, r.bottom) : a.bottom,
			};
		}
		areas.set(e, a);
		return a;
	}

	// The boxes of all visible lines of text, and of drawings the texts that the border cuts.
	const boxes = [], clipped = [];
	const walk = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
	const range = document.createRange();
	for (let node = walk.nextNode(); node; node = walk.nextNode()) {
		const e = node.parentElement;
		if (!node.data.trim() || /^(script|style|title|desc|template|noscript)$/i.test(e.localName) || !visible(e))
			continue;
		const a = area(e), svg = e.ownerSVGElement;
		const border = svg && svg.getBoundingClientRect();
		range.selectNodeContents(node);
		for (const r of range.getClientRects()) {
			if (svg && (r.left < border.left - 1 || r.right > border.right + 1 ||
				    r.top < border.top - 1 || r.bottom > border.bottom + 1))
				clipped.push(short(node.data));
			// A line's box is higher than its letters; adjacent lines may share that.
			const b = {
				left: Math.max(r.left, a.left) + 1, right: Math.min(r.right, a.right) - 1,
				top: Math.max(r.top + 0.2 * r.height, a.top), bottom: Math.min(r.bottom - 0.2 * r.height, a.bottom),
				text: short(node.data), node,
			};
			if (b.left < b.right && b.top < b.bottom)
				boxes.push(b);
		}
	}
	boxes.sort((a, b) => a.top - b.top);
	const overlaps = [];
	for (let i = 0; i < boxes.length && overlaps.length < 100; i++) {
		const a = boxes[i];
		for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom; j++) {
			const b = boxes[j];
			if (a.node !== b.node && b.left < a.right && a.left < b.right)
				overlaps.push([a.text, b.text]);
		}
	}

	// Elements beyond the right edge, those inside of which none is; none that an ancestor cuts off or scrolls.
	const wide = [], root = document.documentElement;
	if (Math.max(root.scrollWidth, document.body ? document.body.scrollWidth : 0) > innerWidth) {
		const out = new Set();
		for (const e of document.querySelectorAll("*")) {
			const r = e.getBoundingClientRect();
			if (r.width && Math.min(r.right, area(e.parentElement).right) + scrollX > innerWidth + 1)
				out.add(e);
		}
		for (const e of out)
			if (![...e.children].some((c) => out.has(c)))
				wide.push(`<${e.localName}> ${short(e.textContent)}`);
		if (!wide.length)
			wide.push(`the page: ${root.scrollWidth} pixels of ${innerWidth}`);
	}

	const ahead = document.querySelectorAll("link[rel~=preconnect], link[rel~=dns-prefetch]");
	return {
		text: (document.body || root).innerText ?? boxes.map((b) => b.text).join("\n"),
		title: document.title, wide, overlaps, clipped,
		ahead: [...ahead].map((e) => e.href),
		hacked: window.hacked === undefined ? [] : [String(window.hacked)],
		elements: document.querySelectorAll("*").length,
	};
})()
