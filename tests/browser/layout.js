// Measures the text of the page. Returns what a reader could not read: text that is cut off, lies on other text, leaves the screen,
// stands in a column of a few letters, or has a short word broken over two lines.
() => {
  const problems = [];
  const name = (node) => `${node.tagName.toLowerCase()}.${String(node.className.baseVal ?? node.className).trim().replaceAll(/\s+/g, ".")}`;
  const text = (node) => `"${node.data.trim().replaceAll(/\s+/g, " ").slice(0, 40)}"`;
  const layer = (node) => {
    for (let up = node; up; up = up.parentElement) if (["fixed", "sticky"].includes(getComputedStyle(up).position) || up.tagName === "DIALOG") return up;
    return null;
  };
  const root = document.querySelector("dialog[open]") ?? document.body;
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const boxes = [];
  while (walk.nextNode()) {
    const node = walk.currentNode;
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("noscript, option, textarea, .hidden, .skip, script, title") || !parent.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true, contentVisibilityAuto: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].filter((rect) => rect.width > 1 && rect.height > 1);
    if (!rects.length) continue;
    // What scrolls or is shortened on purpose shows a part of its text.
    let [left, right, top, bottom] = [0, innerWidth, -Infinity, Infinity];
    let shortened = false;
    for (let up = parent; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const box = up.getBoundingClientRect();
      const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY) && (up.scrollWidth > up.clientWidth || up.scrollHeight > up.clientHeight);
      if (scrolls || style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none") shortened = true;
      left = Math.max(left, box.left); right = Math.min(right, box.right); top = Math.max(top, box.top); bottom = Math.min(bottom, box.bottom);
    }
    for (const rect of rects) {
      if (!shortened && (rect.left < left - 1.5 || rect.right > right + 1.5 || rect.top < top - 1.5 || rect.bottom > bottom + 1.5)) {
        problems.push(`cut off: ${text(node)} in ${name(parent)}`);
        break;
      }
    }
    const own = parent.getBoundingClientRect();
    if (node.data.trim().length > 20 && rects.length > 4 && own.width < 64) problems.push(`a column of ${Math.round(own.width)} px: ${text(node)} in ${name(parent)}`);
    if (rects.length > 1) {
      for (const word of node.data.matchAll(/(?<!\S)[\p{Script=Latin}\d.,:;!?]{2,14}(?!\S)/gu)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].filter((rect) => rect.width > 1).map((rect) => Math.round(rect.top)));
        if (tops.size > 1) { problems.push(`a broken word: "${word[0]}" in ${name(parent)}`); break; }
      }
    }
    const over = layer(parent);
    for (const rect of rects) {
      const box = { left: Math.max(rect.left, left), right: Math.min(rect.right, right), top: Math.max(rect.top, top), bottom: Math.min(rect.bottom, bottom), node, over };
      if (box.right - box.left > 2 && box.bottom - box.top > 4) boxes.push(box);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((one, at) => {
    for (let next = at + 1; next < boxes.length && boxes[next].top < one.bottom - 3; next += 1) {
      const other = boxes[next];
      if (other.node === one.node || other.over !== one.over) continue;
      if (Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2 && Math.min(one.bottom, other.bottom) - other.top > 4) {
        problems.push(`overlap: ${text(one.node)} and ${text(other.node)} in ${name(other.node.parentElement)}`);
      }
    }
  });
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) problems.push(`the page is ${wide} px too wide`);
  return [...new Set(problems)].slice(0, 8);
}
