package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/testkit/zhtest"
)

func TestLayoutsOfCongestionControl(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]CCLayout{
		"old-*=packed-ca":                          {"old-*", []string{"packed-ca"}},
		" leaf? = wide-ports + libibmad-log ":      {"leaf?", []string{"wide-ports", "libibmad-log"}},
		"*=packed-ca+wide-ports+libibmad-log":      {"*", []string{"packed-ca", "wide-ports", "libibmad-log"}},
		"host [1-3] HCA-1=libibmad-log+wide-ports": {"host [1-3] HCA-1", []string{"libibmad-log", "wide-ports"}},
	} {
		got, err := ParseCCLayout(text)
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("%q: %v\n%s", text, err, cmp.Diff(want, got))
		}
	}
	for text, want := range map[string]string{
		"":           "want PATTERN=LAYOUT",
		"old":        "want PATTERN=LAYOUT",
		"=packed-ca": "want PATTERN=LAYOUT",
		"[=wide":     "want PATTERN=LAYOUT",
		"old=":       `layout "": want libibmad-log, wide-ports, packed-ca`,
		"old=packed": `layout "packed": want libibmad-log, wide-ports, packed-ca`,
	} {
		if _, err := ParseCCLayout(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		} else {
			zhtest.Error(t, text, err, "wide-ports")
		}
	}
	if _, err := Load(Sources{Path: file(t, "cc_layouts: ['old-*=packed']\n")}); err == nil || !strings.Contains(err.Error(), "cc_layouts") {
		t.Errorf("an unknown layout in the file: %v", err)
	}
}
