// Fails for text in code, for keys that no catalogue has, and for keys that no code uses.
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import ts from "typescript";
import { parse } from "yaml";
import { wordsOf } from "./words.mjs";

const attributes = new Set([
  "title",
  "label",
  "aria-label",
  "placeholder",
  "alt",
  "description",
  "summary",
  "caption",
  "error",
  "effect",
  "why",
  "unit",
]);
const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((f) => f.isFile())
    .map((f) => `${f.parentPath}/${f.name}`);

const catalogues = new Map();
for (const path of filesIn("src/i18n/locales/en"))
  catalogues.set(basename(path, ".json"), JSON.parse(readFileSync(path, "utf8")));
catalogues.set("words", wordsOf(parse(readFileSync("../internal/i18n/catalogue/messages.en.yaml", "utf8"))));
const everyKey = new Set([...catalogues.values()].flatMap((texts) => Object.keys(texts)));
const has = (namespace, key) => Object.hasOwn(catalogues.get(namespace) ?? {}, key);

/** Words: two letters or more beside each other, outside of units such as "Gbit/s" that are the same in every language. */
const isText = (text) =>
  /\p{L}{2,}/u.test(text) &&
  !/^\s*(Fairlane|[kMGT]?bit\/s|API|CLI|DCQCN|InfiniBand|RoCE|WRCC|CSV|JSON|SL|GUID|LID|P_Key|Ctrl)\s*$/.test(text);

const faults = [];
/** Of each file: the namespaces of its translations, its texts, and the begins of those with values: "state." of `state.${s}`. */
const files = [];

for (const path of filesIn("src").filter(
  (p) => /\.tsx?$/.test(p) && !/\.(test\.tsx?|gen\.ts|d\.ts)$|\/testing\//.test(p),
)) {
  const file = ts.createSourceFile(
    path,
    readFileSync(path, "utf8"),
    ts.ScriptTarget.Latest,
    true,
    path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
  const fault = (node, text) =>
    faults.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${text}`);
  const [namespaces, literals, starts] = [new Set(), new Set(), new Set()];
  files.push({ namespaces, literals, starts });
  const calls = [];
  const visit = (node) => {
    if (ts.isJsxText(node) && isText(node.text)) fault(node, `text in code: ${JSON.stringify(node.text.trim())}`);
    if (
      ts.isJsxAttribute(node) &&
      node.initializer &&
      ts.isStringLiteral(node.initializer) &&
      attributes.has(node.name.getText()) &&
      isText(node.initializer.text)
    )
      fault(node, `text in code: ${node.getText()}`);
    if (ts.isStringLiteralLike(node)) literals.add(node.text);
    if (ts.isTemplateExpression(node) && /[.-]$/.test(node.head.text)) starts.add(node.head.text);
    if (ts.isCallExpression(node) && node.arguments.length) {
      const [first] = node.arguments;
      const name = node.expression.getText();
      // Of several namespaces, `t` reads the first one; keys of the others name theirs.
      const own = ts.isArrayLiteralExpression(first) ? first.elements[0] : first;
      if (name === "useTranslation" && ts.isStringLiteral(own)) namespaces.add(own.text);
      if (name === "t" && ts.isStringLiteral(first)) calls.push(first);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  for (const key of calls) {
    const [, own, rest] = /^([a-z-]+):(.+)$/.exec(key.text) ?? [];
    const known =
      own && catalogues.has(own)
        ? has(own, rest)
        : namespaces.size
          ? [...namespaces].some((n) => has(n, key.text))
          : everyKey.has(key.text);
    if (!known) fault(key, `no catalogue has the key ${key.text}`);
  }
}

/** Whether a file uses a key: by its whole name, or in a translation of its namespace. A file without translations makes keys for others. */
const uses = (file, namespace, key) => {
  const names =
    file.namespaces.size === 0 || file.namespaces.has(namespace)
      ? [key, `${namespace}:${key}`]
      : [`${namespace}:${key}`];
  return names.some((name) => file.literals.has(name) || [...file.starts].some((start) => name.startsWith(start)));
};
// Words are also for sentences of the service, whose templates a test of internal/i18n checks.
for (const [namespace, texts] of catalogues)
  for (const key of Object.keys(texts))
    if (namespace !== "words" && !files.some((file) => uses(file, namespace, key)))
      faults.push(`src/i18n/locales/en/${namespace}.json: no code uses ${key}`);

if (faults.length) {
  process.stderr.write(`${faults.join("\n")}\n`);
  process.exit(1);
}
