package i18n

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlane/internal/i18n/catalogue"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/usage"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func load(t *testing.T, lang string) *Catalogue {
	t.Helper()
	c, err := Load(lang)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCataloguesHaveTheSameKeysAndValues(t *testing.T) {
	t.Parallel()
	en := load(t, Default)
	for _, lang := range Languages() {
		c := load(t, lang)
		if c.Lang() != lang {
			t.Errorf("catalogue %s says it is %s", lang, c.Lang())
		}
		if d := cmp.Diff(en.Keys(), c.Keys()); d != "" {
			t.Errorf("keys of %s differ from %s:\n%s", lang, Default, d)
		}
		for _, k := range c.Keys() {
			if d := cmp.Diff(catalogue.Names(en.texts[k]), catalogue.Names(c.texts[k])); d != "" {
				t.Errorf("%s of %s names other values than in %s:\n%s", k, lang, Default, d)
			}
			if c.texts[k] == "" {
				t.Errorf("%s of %s is empty", k, lang)
			}
		}
	}
}

func TestOneIsSingular(t *testing.T) {
	t.Parallel()
	c := load(t, Default)
	for _, x := range []struct{ got, want string }{
		{c.T("compile.title", "name", "x", "ports", 1, "switches", 1), "plan x: 1 adapter port, 1 switch"},
		{c.T("compile.title", "name", "{ports:a|b}", "ports", 2, "switches", 11), "plan {ports:a|b}: 2 adapter ports, 11 switches"},
		{c.T("msg.flows-set", "count", 1, "version", 1), "1 flow is declared, version 1"},
		{c.T("msg.flows-set", "count", 0, "version", 1), "0 flows are declared, version 1"},
	} {
		if x.got != x.want {
			t.Errorf("%q, want %q", x.got, x.want)
		}
	}
}

// TestValuesFollowTheWordOrderOfTheLanguage checks sentences whose values have another order than in English.
func TestValuesFollowTheWordOrderOfTheLanguage(t *testing.T) {
	t.Parallel()
	zh := load(t, "zh")
	for _, c := range []struct {
		said phrase.Text
		want string
	}{
		{phrase.Of("plan.guarantee-overbooked", "link", "链路", "sum", "90", "parts", "a 50, b 40", "most", "80"),
			"链路上的保证速率合计 90（a 50, b 40），超过可保证的 80：编译器按比例降低各项保证"},
		{phrase.Of("plan.uncalibrated-speed", "links", phrase.Of("count.contended-link", "n", 7), "min", "10", "max", "100", "profile", `"p"`),
			"7 条争用链路的速率不在设备配置档 \"p\" 的校准范围 10 至 100 之内：编译器按最接近的速率计算，误差界在此未经验证"},
		{phrase.Of("diff.tenant-new", "weight", 2, "qps", phrase.Of("count.queue-pair", "n", 8), "predicted", "P", "entitled", "E"), "新增，权重 2，8 个队列对，应得 E，预测 P"},
		{phrase.Of("diff.gains", "rate", "R", "links", phrase.Noun("count.link").Of(1)), "在 1 条链路上增加 R"},
		{phrase.Of("plan.see-tenant", "codes", "CODE", "tenant", "gold"), "按照问题 CODE 对租户 gold 的建议处理"},
		{phrase.Of("plan.sl-need", "n", 5, "where", phrase.Of("plan.sl-from", "port", "h1/P1"), "names", []phrase.Text{phrase.Verbatim("a, b"), phrase.Of("plan.sl-set")}, "need", 5, "usable", 4),
			"5 个租户从端口 h1/P1 发送或可能发送（a, b；最大集合）：至少需要 5 个 SL，可用 4 个"},
		{phrase.Of("plan.weight-out-of-range", "weights", phrase.Of("count.weight", "n", 3), "min", "0.1", "max", "100", "unit", "U", "worst", "L"),
			"3 个权重超出发送方接受的范围（0.1 至 100 个单位，每单位 U）：超出最多的对应 L"},
		{phrase.Of("plan.dcqcn-slow", "port", "h2/P1", "others", phrase.Text{}, "step", 8, "period", 4636, "settle", "490 ms", "held", "365 Mbit/s"),
			"端口 h2/P1：每个队列对每 4636 us 增加 8 Mbit/s，约需 490 ms 才能由标记稳定在预测的 365 Mbit/s"},
		{phrase.Of("check.unreachable", "n", 3, "pairs", 132, "causes", phrase.Commas{phrase.Of("check.circles", "n", 3)}, "samples", phrase.Of("check.pair", "source", "a", "destination", "b", "lid", 7)),
			"132 个端口组合中有 3 个没有路径：3 个成环；例如 a 到 b（LID 7）"},
		{phrase.Of("check.misrouted", "switch", "leaf1", "lids", phrase.Of("count.lid", "n", 7), "lid", 3, "port", 4, "why", phrase.Of("check.link-down")),
			"leaf1 将发往 7 个 LID（首个为 3）的数据包送到端口 4，该端口的链路已断开"},
		{phrase.Of("check.lane-shared", "first", phrase.Of("check.sl-of", "sl", 1, "users", "ml"), "second", phrase.Of("check.sl", "sl", 2), "lane", 5, "ports", phrase.Of("count.port", "n", 9), "some", "leaf1/P4"),
			"SL 1 (ml) 与 SL 2 在 9 个端口共用通道 5：leaf1/P4"},
		{phrase.Of("check.lane-off", "sl", phrase.Of("check.sl", "sl", 2), "lane", 9, "ports", phrase.Of("count.port", "n", 3), "some", "leaf1/P4"),
			"SL 2 在 3 个端口被映射到未启用的通道 9：leaf1/P4"},
		{phrase.Of("check.not-in-partition", "ports", phrase.Of("count.port", "n", 3), "tenant", "web", "pkey", "0x0002", "some", "h1/P1"), "租户 web 的 3 个端口不在其分区 0x0002 中：h1/P1"},
		{phrase.Of("check.all-limited", "n", 3, "tenant", "web", "pkey", "0x0002"), "租户 web 的全部 3 个端口都是分区 0x0002 的受限成员"},
		{phrase.Of("check.limited", "port", "a", "peer", "b", "speed", "QDR", "limiter", "c", "enabled", "FDR", "both", "EDR"),
			"a - b 运行于 QDR，因为 c 只启用了 FDR；两端都支持 EDR"},
		{phrase.Of("discovery.widths", "here", "4xEDR", "there", "1xEDR", "node", "0x1", "port", 2), "链路在此端运行于 4xEDR，在另一端（0x1 端口 2）运行于 1xEDR"},
		{phrase.Of("check.lid-at", "lid", 7, "ports", phrase.Of("count.port", "n", 3)), "3 个端口记录的是 LID 7"},
		{phrase.Of("inventory.unlisted", "n", 2, "path", "inv.yaml"),
			"inv.yaml 中有 2 台主机和交换机没有地址：它们属于拓扑，但不受管理"},
	} {
		if got := zh.Say(c.said); got != c.want {
			t.Errorf("%s\nis translated as %s\nwant       %s", c.said, got, c.want)
		}
	}
}

func TestValuesAreFilledIn(t *testing.T) {
	t.Parallel()
	c := load(t, "en")
	if got := c.T("msg.tenant-created", "name", "red", "weight", 1.5); got != "tenant red has weight 1.5" {
		t.Errorf("got %q", got)
	}
	if got := c.T("msg.tenant-created", "name", "{weight}", "weight", 1); got != "tenant {weight} has weight 1" {
		t.Errorf("a value that looks like a name was filled in again: %q", got)
	}
	if got := c.T("no.such.key", "a", 1); got != "no.such.key" || c.Has("no.such.key") {
		t.Errorf("a missing key gives %q", got)
	}
}

func TestErrorsAreTranslatedWhereSentencesExist(t *testing.T) {
	t.Parallel()
	weight := &quantity.Error{Want: quantity.WantDecimals, Found: "1.0005"}
	for _, c := range []struct {
		err    error
		en, zh string
	}{
		{errors.New("a\nb"), "a\nb", "a\nb"},
		{weight, "weight 1.0005: want at most three decimals", "权重 1.0005：最多三位小数"},
		{usage.Of(phrase.Of("plan.whole-fabric")), "the fabric", "整个网络"},
		{&usage.Error{Err: errors.Join(fmt.Errorf("a.yaml:3: %w", weight), errors.New("no more"))},
			"a.yaml:3: weight 1.0005: want at most three decimals\nno more", "a.yaml:3：权重 1.0005：最多三位小数\nno more"},
	} {
		for lang, want := range map[string]string{"en": c.en, "zh": c.zh} {
			if got := load(t, lang).Error(c.err); got != want {
				t.Errorf("%s: got %q, want %q", lang, got, want)
			}
		}
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asked string
		env   map[string]string
		want  string
	}{
		"nothing is set":              {"", nil, "en"},
		"a flag wins":                 {"zh", map[string]string{"FAIRLANE_LANG": "en"}, "zh"},
		"our variable before LANG":    {"", map[string]string{"FAIRLANE_LANG": "en", "LANG": "zh_CN.UTF-8"}, "en"},
		"a locale is its language":    {"", map[string]string{"LANG": "zh_CN.UTF-8"}, "zh"},
		"a tag is its language":       {"zh-Hans", nil, "zh"},
		"LC_ALL before LANG":          {"", map[string]string{"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"},
		"no catalogue means English":  {"", map[string]string{"LANG": "de_DE.UTF-8"}, "en"},
		"upper case does not matter":  {"ZH", nil, "zh"},
		"LC_MESSAGES comes after all": {"", map[string]string{"LC_MESSAGES": "zh_TW", "LANG": "en_US"}, "zh"},
	} {
		if got := Pick(tc.asked, func(k string) string { return tc.env[k] }); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestUnknownLanguageIsRefused(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"", "de", "../en"} {
		if _, err := Load(lang); err == nil {
			t.Errorf("language %q was loaded", lang)
		}
	}
}

func TestAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"demo", "--once"}, ""},
		{[]string{"--lang", "zh", "demo"}, "zh"},
		{[]string{"demo", "--lang=en"}, "en"},
		{[]string{"demo", "--lang"}, ""},
	} {
		if got := Asked(c.args); got != c.want {
			t.Errorf("asked by %q: %q, want %q", c.args, got, c.want)
		}
	}
}

// made lists the ids of all sentences in the program, and compares each call of phrase.Of and phrase.Write with the template
// of its id.
func made(t *testing.T, en *Catalogue) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || path != "../.." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec: // const Ports Noun = "count.port"
				if named(n.Type, file, "Noun") {
					for _, v := range n.Values {
						out[literal(v)] = true
					}
				}
			case *ast.Field: // `json:"port" want:"manifest.want-port"`
				if id := wantOf(n); strings.Contains(id, ".") {
					out[id] = true
					holds(t, path, id, en, nil)
				}
			case *ast.CallExpr:
				switch {
				case named(n.Fun, file, "Noun"):
					out[literal(n.Args[0])] = true
				case named(n.Fun, file, "Write"):
					id := literal(n.Args[0])
					if out[id] = true; !strings.HasPrefix(id, "reason.") {
						t.Errorf("%s: %q is written: want an id of reason., which internal/phrase tests", path, id)
					}
					holds(t, path, id, en, n.Args[1:])
				case named(n.Fun, file, "Of"):
					id := literal(n.Args[0])
					out[id] = true
					if file.Name.Name != "phrase" || id != "" { // Noun.Of takes its own id
						holds(t, path, id, en, n.Args[1:])
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	contract, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`x-want: ([a-z0-9.-]+)`).FindAllSubmatch(contract, -1) {
		out[string(m[1])] = true
		holds(t, "api/openapi.yaml", string(m[1]), en, nil)
	}
	delete(out, "")
	return out
}

// wantOf returns the id in the tag "want" of a field (internal/yamltree).
func wantOf(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	tag, _ := strconv.Unquote(f.Tag.Value)
	return reflect.StructTag(tag).Get("want")
}

// holds compares the names of a call's values with those in the template.
func holds(t *testing.T, path, id string, en *Catalogue, args []ast.Expr) {
	t.Helper()
	template, ok := en.texts[id]
	if !ok {
		t.Errorf("%s: no message has the id %q: want one of the catalogue, written out", path, id)
		return
	}
	var names []string
	for i := 0; i < len(args); i += 2 {
		names = append(names, literal(args[i]))
	}
	slices.Sort(names)
	if d := cmp.Diff(catalogue.Names(template), names); d != "" || len(args)%2 != 0 {
		t.Errorf("%s: the values of %s are not those of its template:\n%s", path, id, d)
	}
}

// literal returns the value of a string literal or of a constant of package phrase, else "".
func literal(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(x.Value)
		return text
	case *ast.Ident:
		if x.Name == "verbatim" {
			return x.Name
		}
	}
	return ""
}

// named recognizes phrase.NAME, and NAME within package phrase.
func named(x ast.Expr, file *ast.File, name string) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name == name && file.Name.Name == "phrase"
	case *ast.SelectorExpr:
		from, ok := x.X.(*ast.Ident)
		return ok && from.Name == "phrase" && x.Sel.Name == name
	}
	return false
}

func TestEverySentenceHasATemplateAndEveryTemplateASentence(t *testing.T) {
	t.Parallel()
	en := load(t, Default)
	ids := made(t, en)
	if len(ids) < 300 {
		t.Fatalf("found %d sentences: the test is no test", len(ids))
	}
	b, err := os.ReadFile("catalogue/messages.en.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var messages map[string]string
	if err := yaml.Unmarshal(b, &messages); err != nil {
		t.Fatal(err)
	}
	for id := range messages {
		// Made of names, and tested there: alerts by service/series/rules, rules by service/app, words by sets_test.go.
		if made, _, _ := strings.Cut(id, "."); slices.Contains([]string{"alert", "rule", "word"}, made) {
			continue
		}
		if !ids[id] && id != "list.semicolon" && id != "list.comma" {
			t.Errorf("no sentence has the id %s", id)
		}
	}
}

func TestSayTranslatesSentences(t *testing.T) {
	t.Parallel()
	said := phrase.Of("labelled", "label", 1, "text", phrase.Of("plan.whole-fabric"))
	if got := load(t, "zh").Say(said); got != "1：整个网络" {
		t.Errorf("got %q", got)
	}
	if got := load(t, "en").Say(said); got != said.String() || got != "1: the fabric" {
		t.Errorf("got %q", got)
	}
}
