package site

import (
	"slices"
	"testing"

	"fairlane/internal/testkit/filetest"
	"fairlane/service/config"
)

// The keys that a reload applies are the log level and the settings for reaching fabrics.
func TestAReloadNoticesEveryKeyThatItApplies(t *testing.T) {
	t.Parallel()
	profiles := filetest.Write(t, "site.yaml", "version: 1\nprofiles:\n  - {name: old, kind: adapter, origin: inventory}\nassign:\n  - {profile: old, name: \"*\"}\n")
	token := filetest.Write(t, "token", "secret\n")
	before, err := ReadSettings(&config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := ReadSettings(&config.Config{
		CCKeyFile: filetest.Write(t, "cc", "0x1\n"), MKeyFile: filetest.Write(t, "m", "0x2\n"), CCLayouts: []string{"old-*=packed-ca"}, IBProfiles: profiles,
		SubnetManagers: []string{"lab=" + filetest.Write(t, "sm.yaml", "ufm: {url: 'https://ufm.example', token_file: '"+token+"'}\n")},
		Discovery:      config.Discovery{Sources: []string{"umad:*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := append(after.Changed(&before), "log.level")
	var want []string
	for _, k := range config.Keys() {
		if k.Reload {
			want = append(want, k.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("a reload notices %v and applies %v", got, want)
	}
	if again := after.Changed(&after); len(again) > 0 {
		t.Errorf("without any change: %v", again)
	}
}
