package analysis

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextsAreCut(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"short":             {"abc", "abc"},
		"just fits":         {strings.Repeat("a", 60), strings.Repeat("a", 60)},
		"long":              {strings.Repeat("a", 61), strings.Repeat("a", 57) + "..."},
		"very long":         {strings.Repeat("a", 100_000), strings.Repeat("a", 57) + "..."},
		"long in JSON":      {strings.Repeat("<", 11), strings.Repeat("<", 9) + "..."},
		"what has no shape": {"a\x00b\xffc\nd", "a b c\nd"},
		"between letters":   {strings.Repeat("é", 40), strings.Repeat("é", 28) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cut(c.in, 60); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a<b\x00\xff", 10)
	f.Add(strings.Repeat("\u2028\"", 50), 33)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = 4 + (n&0x7fffffff)%2000
		got := cut(s, n)
		text, err := json.Marshal(got)
		if err != nil || len(text)-2 > n || !utf8.ValidString(got) {
			t.Errorf("%q of at most %d is %d bytes, error %v", got, n, len(text)-2, err)
		}
		if again := cut(got, n); again != got {
			t.Errorf("cut twice: %q, then %q", got, again)
		}
	})
}
