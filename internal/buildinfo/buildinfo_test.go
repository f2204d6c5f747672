package buildinfo

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBuildInformation(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.99", Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-24T20:00:00Z"}, {Key: "vcs.modified", Value: "true"},
		{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "riscv64"},
	}}
	want := Build{"dev-0123456789ab", "0123456789abcdef", "2026-11-24T20:00:00Z", true, "go1.99", "linux/riscv64"}
	if d := cmp.Diff(want, buildOf(info)); d != "" {
		t.Error(d)
	}
	info.Main.Version = "v1.2.3"
	if got := buildOf(info).Version; got != "v1.2.3" {
		t.Errorf("version %s of a release", got)
	}
	if got := buildOf(&debug.BuildInfo{}).Version; got != "dev" {
		t.Errorf("version %s without build information", got)
	}
}
