package local

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"

	"fairlane/command/cmdline"
	"fairlane/internal/i18n"
	"fairlane/sim/simdev"
	"fairlane/subnet"
)

// TestFabricFindingsAreInChinese prints faults of a live fabric, parts that a sweep could not read, and an event in
// Chinese.
func TestFabricFindingsAreInChinese(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, simdev.Options{})
	cmdline.Must(f.dev.GuardSM(f.node("leaf2"), 0x77, 2, 0))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"check":    {[]string{"fabric", "check"}, "  spine1/P2：没有 NodeInfo：该处所接的设备不在模型中；受 M_Key 保护的设备同样不响应\n"},
		"discover": {[]string{"discover"}, "）：没有 NodeInfo：该处所接的设备不在模型中"},
	} {
		var out, words bytes.Buffer
		runLocal(t.Context(), append(c.args, "--from", "ibsim:"+f.addr, "--lang", "zh"), &out, &words)
		text := out.String() + words.String()
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: said\n%s\nwant %q in it", name, text, c.want)
		}
		for l := range strings.Lines(text) {
			if strings.ContainsFunc(l, unicode.IsLetter) && !strings.ContainsFunc(l, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
				t.Errorf("%s: said %q, want it in Chinese", name, l)
			}
		}
	}
}

// TestJSONOfAFabricIsInOneLanguage requests the same findings in two languages.
func TestJSONOfAFabricIsInOneLanguage(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, simdev.Options{})
	cmdline.Must(f.dev.GuardSM(f.node("leaf2"), 0x77, 2, 0))
	said := map[string]string{}
	for _, lang := range i18n.Languages() {
		var out, words bytes.Buffer
		runLocal(t.Context(), []string{"fabric", "check", "--json", "--from", "ibsim:" + f.addr, "--lang", lang}, &out, &words)
		_, text, _ := strings.Cut(out.String(), `"mads_sent"`) // after the duration, which differs
		said[lang] = text
	}
	if said["en"] != said["zh"] || !strings.Contains(said["en"], "no NodeInfo") {
		t.Errorf("in English\n%s\nin Chinese\n%s", said["en"], said["zh"])
	}
}

func TestWatchEventsAreInChinese(t *testing.T) {
	t.Parallel()
	x := newWatched(t, false, "zh")
	host := subnet.PortRef{Node: x.node("host-004"), Port: 1}
	x.scan()
	x.dev.SetLink(host, false)
	x.scan()
	lines, err := x.end()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, "  node-gone  host-004 已消失") }) {
		t.Errorf("printed %q, want that host-004 is gone", lines)
	}
	for _, l := range lines {
		if !strings.ContainsFunc(l, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("printed %q, want Chinese", l)
		}
	}
}
