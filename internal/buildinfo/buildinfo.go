// Package buildinfo says which version of a program runs, and how it was built.
package buildinfo

import "runtime/debug"

// Build is what a program knows of how it was built.
type Build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	CommitTime string `json:"commit_time,omitempty"` // of the commit, RFC 3339
	Modified   bool   `json:"modified"`              // whether files differed from the commit
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// Read reads the build of this program.
func Read() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: devVersion}
	}
	return buildOf(info)
}

const devVersion = "dev"

// buildOf takes the version of the module, or the revision it was built from, or "dev".
func buildOf(info *debug.BuildInfo) Build {
	set := make(map[string]string, len(info.Settings))
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	b := Build{
		Commit: set["vcs.revision"], CommitTime: set["vcs.time"], Modified: set["vcs.modified"] == "true",
		Go: info.GoVersion, Platform: set["GOOS"] + "/" + set["GOARCH"],
	}
	switch v := info.Main.Version; {
	case v != "" && v != "(devel)":
		b.Version = v
	case b.Commit != "":
		b.Version = devVersion + "-" + b.Commit[:min(12, len(b.Commit))]
	default:
		b.Version = devVersion
	}
	return b
}

// Version is the version of this program in short.
func Version() string { return Read().Version }
