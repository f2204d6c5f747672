package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoFileOfTheServerIsToldToItsClients names files that are no fabrics as the source of one.
func TestNoFileOfTheServerIsToldToItsClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"token":   "flt_canary0123456789\n",
		"keys":    "canary: flt_canary0123456789\n",
		"passwd":  "root:canary:0:0\n",
		"yaml":    "version: 1\nname: canary\nnodes: canary\n",
		"node":    "version: 1\nname: x\nnodes: [{name: canary, kind: canary, guid: canary}]\n",
		"broken":  "version: 1\nnodes: [canary\n",
		"binary":  "\x00\x01canary\n",
		"ibnet":   "Switch\t2 \"canary\"\n[1] canary\n",
		"private": "-----BEGIN CANARY KEY-----\ncanary\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := (&ports{}).Discover(t.Context(), "file:"+path)
		if err == nil || strings.Contains(strings.ToLower(strings.ReplaceAll(err.Error(), dir, "")), "canary") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := readFabric(path); err == nil {
			t.Errorf("%s was taken for a fabric", name)
		}
	}
	if _, _, err := (&ports{}).Discover(t.Context(), "file:"+filepath.Join(dir, "none")); err == nil || strings.Contains(err.Error(), "no such file") {
		t.Errorf("of a missing file: %v", err)
	}
}
