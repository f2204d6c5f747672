import type { Page } from "@playwright/test";

/** Terms of the field, of products and of formats that Chinese text keeps as they are. */
const terms = [
  "Fairlane InfiniBand RoCE DCQCN WRCC Ethernet SONiC OpenSM OpenID Prometheus Kubernetes Slurm DOCA", // products, standards
  "GUID LID SL VL QP MTU CCT CCTI ECN FECN BECN CNP PFC DSCP HCA NIC VF ToS Key GID", // the field's acronyms
  "API CLI CSV JSON YAML SHA URL UTC IP ID TLS KB MB MiB Ctrl Go dev FILE", // formats, units of data, what stands for a name in commands
  "bit kbit Mbit Gbit Tbit ms us ns ps min max", // units, with /s
].flatMap((line) => line.split(" "));

/** Elements whose text is code, a name, or the words of a person or a device; not what the service has in English only (ui/Said). */
const kept = 'code, kbd, pre, samp, [translate="no"], q[lang]:not([data-english]), blockquote[lang]';

/** Attributes that are read to or shown to the reader. */
const attributes = ["aria-label", "title", "placeholder", "alt", "aria-description", "aria-valuetext"];

/**
 * The texts of a page with words of English: in visible text, in labels and in tips. `names` are what people named, such as tenants and
 * devices. Words are two letters or more that stand alone: parts of codes such as `host-001/P1` or `alertname="x"` are none.
 */
export async function untranslated(page: Page, names: Iterable<string>): Promise<string[]> {
  const texts = await page.evaluate(
    ([keptSelector, shownAttributes]) => {
      const out = new Set<string>();
      const visible = (e: Element) => e.checkVisibility({ visibilityProperty: true });
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
      for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const element = node instanceof Element ? node : node.parentElement;
        if (!element || element.closest(`script, style, ${keptSelector}`) || !visible(element)) continue;
        if (!(node instanceof Element)) out.add(node.textContent ?? "");
        else for (const name of shownAttributes) out.add(node.getAttribute(name) ?? "");
      }
      return [document.title, ...out];
    },
    [kept, attributes] as const,
  );
  const allowed = new Set([...terms, ...names]);
  return texts.flatMap((text) => {
    const words = english(text).filter((word) => !allowed.has(word));
    return words.length ? [`${words.join(", ")}: ${JSON.stringify(text.trim())}`] : [];
  });
}

/** The words of a text that stand alone, between spaces, Chinese and punctuation; and English lengths of time, such as "3d". */
function english(text: string): string[] {
  return text
    .replace(/[\u2068][^\u2069]*[\u2069]|"[^"]*"/g, " ") // quotations
    .replace(/\bfairlane( [a-z][a-z-]*)+|代码 [a-z-]+/g, " ") // commands, and codes of problems
    .split(/[\s\p{Script=Han}\u3000-\u303f\uff00-\uffef"'“”‘’()[\],;!?·→±]+/u)
    .map((part) => part.replace(/[.:…]+$/, ""))
    .filter((part) => /^([A-Za-z]{2,}(-[A-Za-z]+)*|\d+[smhdw])$/.test(part));
}
