// Package buildinfo reports the version of the running program and how it was built.
package buildinfo

import "runtime/debug"

// Build is the build information of a program.
type Build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	CommitTime string `json:"commit_time,omitempty"` // of the commit, RFC 3339
	Modified   bool   `json:"modified"`              // whether files differed from the commit
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// Read returns the build of this program.
func Read() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: devVersion}
	}
	return buildOf(info)
}

const devVersion = "dev"

// buildOf uses the version of the module, or else the revision of the build, or else "dev".
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

// Version returns the short version of this program.
func Version() string { return Read().Version }
