package i18n

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlane/internal/phrase"

	"github.com/google/go-cmp/cmp"
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
	value := regexp.MustCompile(`\{[a-z_]+\}`)
	for _, lang := range Languages() {
		c := load(t, lang)
		if c.Lang() != lang {
			t.Errorf("catalogue %s says it is %s", lang, c.Lang())
		}
		if d := cmp.Diff(en.Keys(), c.Keys()); d != "" {
			t.Errorf("keys of %s differ from %s:\n%s", lang, Default, d)
		}
		for _, k := range c.Keys() {
			want, got := value.FindAllString(en.T(k), -1), value.FindAllString(c.T(k), -1)
			slices.Sort(want)
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s of %s names other values than in %s:\n%s", k, lang, Default, d)
			}
			if c.T(k) == "" {
				t.Errorf("%s of %s is empty", k, lang)
			}
		}
	}
}

func TestOneIsToldInTheSingular(t *testing.T) {
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

// TestValuesStandWhereTheyBelong is about sentences whose values come in another order than in English.
func TestValuesStandWhereTheyBelong(t *testing.T) {
	t.Parallel()
	zh := load(t, "zh")
	for _, c := range []struct {
		said phrase.Text
		want string
	}{
		{phrase.Of("{} is guaranteed {} ({}), which is more than the {} that can be booked of it: the guarantees are scaled down in proportion", "链路", "90", "a 50, b 40", "80"),
			"链路 上的保证速率合计 90（a 50, b 40），超过可预留的 80：各保证按比例降低"},
		{phrase.Of("the speed of {} is outside the {} to {} that profile {} was calibrated at: the nearest counts, and the bounds are not proven there", phrase.Of("{} contended links", 7), "10", "100", `"p"`),
			"7 条争用链路的速率不在设备配置档 \"p\" 的校准范围 10 至 100 之内：按最接近的速率计算，误差界在此未经证实"},
		{phrase.Of("new, weight {}, {}, predicted {} of {} entitled", 2, phrase.Of("{} queue pairs", 8), "P", "E"), "新增，权重 2，8 个队列对，应得 E，预测 P"},
		{phrase.Of("gains {} on {}", "R", phrase.Of("1 link")), "在 1 条链路上增加 R"},
		{phrase.Of("follow the advice of {} for tenant {}", "CODE", "gold"), "按照租户 gold 的问题 CODE 的建议处理"},
		{phrase.Of("{} tenants send or may send{} ({}): at least {} SLs are needed, {} are usable", 5, phrase.Of(" from port {}", "h1/P1"), []phrase.Text{phrase.Of("{}", "a, b"), phrase.Of("the largest set")}, 5, 4),
			"5 个租户从端口 h1/P1 发送或可能发送（a, b；最大集合）：至少需要 5 个 SL，可用 4 个"},
		{phrase.Of("{} would have to be out of the range of {} to {} units of {}, which senders hold: the furthest is for {}", phrase.Of("{} weights", 3), "0.1", "100", "U", "L"),
			"3 个权重须超出发送方可用的 0.1 至 100 个单位（每单位 U）的范围：超出最多的对应 L"},
		{phrase.Of("port {}{}: a queue pair gains {} Mbit/s each {} us and needs about {} until marks hold it at the {} that it is predicted to get", "h2/P1", phrase.Text{}, 8, 4636, "490 ms", "365 Mbit/s"),
			"端口 h2/P1：每个队列对每 4636 us 增加 8 Mbit/s，约需 490 ms 才能由标记稳定在预测的 365 Mbit/s"},
		{phrase.Of("{} of {} pairs have no path: {}; for example {}", 3, 132, phrase.Commas{phrase.Of("{} go in a circle", 3)}, phrase.Of("{} to {} (LID {})", "a", "b", 7)),
			"132 个组合中有 3 个无法到达：3 个绕圈；例如 a 到 b（LID 7）"},
		{phrase.Of("{} sends packets to {}, the first {}, to port {}, {}", "leaf1", phrase.Of("{} LIDs", 7), 3, 4, phrase.Of("whose link is down")),
			"leaf1 将发往 7 个 LID（首个为 3）的报文送到端口 4，该端口的链路已断开"},
		{phrase.Of("{} and {} share lane {} at {}: {}", phrase.Of("SL {} ({})", 1, "ml"), phrase.Of("SL {}", 2), 5, phrase.Of("{} ports", 9), "leaf1/P4"),
			"SL 1 (ml) 与 SL 2 在 9 个端口共用通道 5：leaf1/P4"},
		{phrase.Of("{} is put on lane {}, which is not in operation, at {}: {}", phrase.Of("SL {}", 2), 9, phrase.Of("{} ports", 3), "leaf1/P4"),
			"SL 2 在 3 个端口被放到未启用的通道 9：leaf1/P4"},
		{phrase.Of("{} of tenant {} not in its partition {}: {}", phrase.Of("{} ports", 3), "web", "0x0002", "h1/P1"), "租户 web 的 3 个端口不在其分区 0x0002 中：h1/P1"},
		{phrase.Of("all {} ports of tenant {} are limited members of partition {}", 3, "web", "0x0002"), "租户 web 的全部 3 个端口都是分区 0x0002 的受限成员"},
		{phrase.Of("{} - {} runs at {} because {} is enabled at {}; both ends can do {}", "a", "b", "QDR", "c", "FDR", "EDR"),
			"a - b 运行于 QDR，因为 c 只启用了 FDR；两端都支持 EDR"},
		{phrase.Of("link runs at {} here and at {} at the other end, {} port {}", "4xEDR", "1xEDR", "0x1", 2), "链路在此端运行于 4xEDR，在另一端（0x1 端口 2）运行于 1xEDR"},
		{phrase.Of("LID {} at {}", 7, phrase.Of("{} ports", 3)), "3 个端口认为是 LID 7"},
		{phrase.Of("{} hosts and switches have no address in {}: they are part of the topology and are not managed", 2, "inv.yaml"),
			"inv.yaml 中有 2 台主机和交换机没有地址：它们属于拓扑，但不受管理"},
	} {
		if got := zh.Say(c.said); got != c.want {
			t.Errorf("%s\nis told as %s\nwant       %s", c.said, got, c.want)
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

// spoken lists the templates of all sentences that the program makes.
func spoken(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{phrase.Separator: true, phrase.Comma: true, "{}": true}
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
			call, ok := n.(*ast.CallExpr)
			if !ok || !makesSentence(file, call) {
				return true
			}
			template := ""
			if text, ok := call.Args[0].(*ast.BasicLit); ok {
				template, _ = strconv.Unquote(text.Value)
			}
			if template == "" || phrase.Slots(template) != len(call.Args)-1 {
				t.Errorf("%s: template %q for %d values: want one written out, with a {} for each", path, template, len(call.Args)-1)
			}
			out[template] = true
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// makesSentence recognises phrase.Of, and Of within package phrase.
func makesSentence(file *ast.File, call *ast.CallExpr) bool {
	switch of := call.Fun.(type) {
	case *ast.Ident:
		return of.Name == "Of" && file.Name.Name == "phrase"
	case *ast.SelectorExpr:
		from, ok := of.X.(*ast.Ident)
		return ok && from.Name == "phrase" && of.Sel.Name == "Of"
	}
	return false
}

func TestSentencesAreInEveryLanguage(t *testing.T) {
	t.Parallel()
	want := spoken(t)
	if len(want) < 50 {
		t.Fatalf("found %d sentences: the test is no test", len(want))
	}
	for _, lang := range Languages() {
		c := load(t, lang)
		if lang == Default {
			continue
		}
		for template := range want {
			own, ok := c.phrases[template]
			if !ok {
				t.Errorf("%s has no words for %q", lang, template)
				continue
			}
			var values []any
			for i := range phrase.Slots(template) {
				values = append(values, fmt.Sprintf("<%d>", i))
			}
			told := c.Say(phrase.Of(template, values...))
			for _, v := range values {
				if strings.Count(told, v.(string)) != 1 {
					t.Errorf("%s: %q does not have each value of %q once", lang, own, template)
				}
			}
		}
		for template := range c.phrases {
			if !want[template] {
				t.Errorf("%s has words for %q, which nobody says", lang, template)
			}
		}
	}
	if c, said := load(t, "zh"), phrase.Of("{} is new here: {}", 1, phrase.Of("the fabric")); c.Say(said) != "1 is new here: 整个网络" || load(t, "en").Say(said) != said.String() {
		t.Errorf("told as %q", c.Say(said))
	}
}
