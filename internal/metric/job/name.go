package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	// longestName is how long, in bytes, the name of a Job may be: it becomes a label
	// of its pods.
	longestName = 63
	// digestLength is how much of a digest tells names apart that had to be changed.
	digestLength = 6
)

// Name is the name of the Job for the measurement of that number. The part for the
// metric is cut where all would be too long. A part that is not the whole name of
// the metric ends in a digest of it, lest two metrics share a Job.
func Name(uid, name string, number int32) string {
	before, after := uid+".", fmt.Sprintf(".%d", number)
	return before + part(name, longestName-len(before)-len(after)) + after
}

func part(name string, most int) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	clean = strings.Trim(clean, "-")
	if clean == name && len(name) <= most && name != "" {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	digest := hex.EncodeToString(sum[:])[:digestLength]
	room := max(most-len(digest)-1, 0)
	clean = strings.TrimRight(clean[:min(len(clean), room)], "-")
	if clean == "" {
		return digest
	}
	return clean + "-" + digest
}
