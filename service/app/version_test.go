package app

import (
	"bytes"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/i18n"
)

func TestVersionTellsTheBuild(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.99", Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-24T20:00:00Z"}, {Key: "vcs.modified", Value: "true"},
		{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "riscv64"},
	}}
	want := build{"dev-0123456789ab", "0123456789abcdef", "2026-11-24T20:00:00Z", true, "go1.99", "linux/riscv64"}
	if d := cmp.Diff(want, buildOf(info)); d != "" {
		t.Error(d)
	}
	info.Main.Version = "v1.2.3"
	if got := buildOf(info).Version; got != "v1.2.3" {
		t.Errorf("version %s of a release", got)
	}
	if got := buildOf(&debug.BuildInfo{}).Version; got != "dev" {
		t.Errorf("version %s of nothing", got)
	}
	for _, lang := range i18n.Languages() {
		var out, words bytes.Buffer
		if code := Main(t.Context(), []string{"version", "--lang", lang}, &out, &words); code != exitDone || words.Len() > 0 || !strings.Contains(out.String(), version()) {
			t.Errorf("%s: code %d, %q, %q", lang, code, out.String(), words.String())
		}
	}
	var out bytes.Buffer
	code := Main(t.Context(), []string{"version", "--json"}, &out, &out)
	var got build
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || code != 0 || got.Go != runtime.Version() || got.Version != version() {
		t.Errorf("code %d, %+v, %v", code, got, err)
	}
}
