package reference

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"fairlane/docs"
)

func TestMarkdownFeaturesOfThePages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"heading":            {"## Two words: `x`", `<h2 id="two-words-x">Two words: <code>x</code></h2>`},
		"paragraph":          {"one\ntwo\n\nthree", "<p>one two</p>\n<p>three</p>"},
		"list":               {"* a\n  b\n* **c**", "<ul><li>a b</li><li><strong>c</strong></li></ul>"},
		"emphasis":           {"a *b c* 2 * 3 * 4", "<p>a <em>b c</em> 2 * 3 * 4</p>"},
		"numbers":            {"1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"},
		"a status":           {"404. Not there.", "<p>404. Not there.</p>"},
		"fence":              {"```sh\na < b\n\n# no heading\n```\nc", "<pre><code>a &lt; b\n\n# no heading\n</code></pre>\n<p>c</p>"},
		"open fence":         {"```\na", "<pre><code>a\n</code></pre>"},
		"indented code":      {"    a\n\n      b\n\nc", "<pre><code>a\n\n  b\n</code></pre>\n<p>c</p>"},
		"table":              {"| a | b |\n|---|---|\n| `x` | y \\| z |", "<th>a</th><th>b</th></tr></thead><tbody><tr><td><code>x</code></td><td>y | z</td></tr>"},
		"a bar is no table":  {"|x|\n", "<p>|x|</p>"},
		"link to a page":     {"[p](problems.md#invalid)", `<a href="/docs/problems#invalid">p</a>`},
		"link to the file":   {"[c](../api/openapi.yaml)", `<a href="/docs/openapi.yaml">c</a>`},
		"link inside":        {"[c](#x)", `<a href="#x">c</a>`},
		"link out":           {"<https://example.org/a?b&c>", `<a href="https://example.org/a?b&amp;c">https://example.org/a?b&amp;c</a>`},
		"link to nothing":    {"[c](../Makefile) [d](none.md)", "<p>c d</p>"},
		"link that runs":     {"[c](javascript:alert)", "<p>c</p>"},
		"markup is text":     {"<script>x</script> & \"y\"", "<p>&lt;script&gt;x&lt;/script&gt; &amp; &#34;y&#34;</p>"},
		"markup in code":     {"`<b>`", "<code>&lt;b&gt;</code>"},
		"markup in a target": {`[a](https://x/"onclick=y)`, `href="https://x/&#34;onclick=y"`},
		"comment":            {"<!-- a\nb -->\nc", "<p>c</p>"},
		"picture":            {"![words](img/x.png)", "<em>words</em>"},
	} {
		if got := markdown(c.in, lead); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q gives\n%s\nwant it to hold\n%s", name, c.in, got, c.want)
		}
	}
}

// tags matches what a browser reads as a tag; ours those that markdown writes.
var (
	tags = regexp.MustCompile(`<[^>]*>?`)
	ours = regexp.MustCompile(`^<(/?(p|ul|ol|li|table|thead|tbody|tr|th|td|pre|code|strong|em|h[1-6]|a|div)|h[1-6] id="[^"<>]*"|div class="wide"|a href="(https?://|/docs|#)[^"<>]*")>$`)
)

func FuzzMarkdown(f *testing.F) {
	for _, name := range docs.Names() {
		text, _ := docs.Page(name)
		f.Add(text)
	}
	f.Add("```")
	f.Add("|\n|-")
	f.Add("* \n  * [](")
	f.Fuzz(func(t *testing.T, text string) {
		got := markdown(text, lead)
		for _, tag := range tags.FindAllString(got, -1) {
			if !ours.MatchString(tag) {
				t.Errorf("%q gives the tag %s", text, tag)
			}
		}
	})
}

func TestTheReadersLanguage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ query, accept, want string }{
		"nothing":         {"", "", "en"},
		"browser":         {"", "zh-CN,zh;q=0.9,en;q=0.8", "zh"},
		"first one known": {"", "de, en;q=0.5, zh;q=0.4", "en"},
		"asked for":       {"?lang=zh", "en", "zh"},
		"asked for junk":  {"?lang=%22%3E", "zh", "zh"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/docs"+c.query, nil)
		r.Header.Set("Accept-Language", c.accept)
		if got := Language(r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestEveryPageIsServedUnderItsTitle(t *testing.T) {
	t.Parallel()
	for _, name := range docs.Names() {
		text, ok := docs.Page(name)
		if !ok || title(name, text) == name {
			t.Errorf("page %s has no first heading", name)
		}
	}
	if _, ok := docs.Page("../go"); ok {
		t.Error("a page outside of the folder was found")
	}
}
