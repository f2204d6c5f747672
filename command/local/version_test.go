package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/internal/buildinfo"
	"fairlane/internal/i18n"
	"fairlane/web"
)

func TestVersionReportsTheBuild(t *testing.T) {
	t.Parallel()
	for _, lang := range i18n.Languages() {
		var out, words bytes.Buffer
		if code := runLocal(t.Context(), []string{"version", "--lang", lang}, &out, &words); code != cmdline.ExitDone || words.Len() > 0 || !strings.Contains(out.String(), buildinfo.Version()) {
			t.Errorf("%s: code %d, %q, %q", lang, code, out.String(), words.String())
		}
	}
	var out bytes.Buffer
	code := runLocal(t.Context(), []string{"version", "--json"}, &out, &out)
	var got build
	portal, err := web.Embedded()
	if err := errors.Join(err, json.Unmarshal(out.Bytes(), &got)); err != nil || code != 0 || got.Go != runtime.Version() || got.Version != buildinfo.Version() || got.PortalSHA256 != portal.Hash() {
		t.Errorf("code %d, %+v, %v", code, got, err)
	}
}
