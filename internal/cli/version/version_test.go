package version

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	built := func(main string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: main}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	clean, dirty := debug.BuildSetting{Key: "vcs.modified", Value: "false"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, tc := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"nothing recorded":              {nil, "v99.99.99+unknown"},
		"no version control":            {built("(devel)"), "v99.99.99+unknown"},
		"a clean tag":                   {built("v1.2.3", commit, clean), "v1.2.3"},
		"a clean tag of a candidate":    {built("v1.2.3-rc1", commit, clean), "v1.2.3-rc1"},
		"an installed tag":              {built("v1.2.3"), "v1.2.3"},
		"a tag with changes":            {built("v1.2.3+dirty", commit, dirty), "v1.2.3+0123456.dirty"},
		"a commit after a tag":          {built("v1.2.4-0.20260301120000-0123456789ab", commit, clean), "v1.2.4+0123456"},
		"a commit of an untagged tree":  {built("(devel)", commit, clean), "v0.0.0+0123456"},
		"changes on an untagged tree":   {built("(devel)", commit, dirty), "v0.0.0+0123456.dirty"},
		"changes on a commit, numbered": {built("v0.0.0-20260301120000-0123456789ab+dirty", commit, dirty), "v0.0.0+0123456.dirty"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(tc.info).version; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
