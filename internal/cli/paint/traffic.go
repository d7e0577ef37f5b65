package paint

import (
	"strconv"

	"github.com/sluice-project/sluice/internal/decide/explain"
)

// entrances is the table of the places where traffic is divided.
func (s Style) entrances(all []explain.Entrance) []string {
	t := &table{}
	t.add("ROUTER", "ENTRANCE", "WANTED", "WEIGHT", "GENERATION", "VERIFIED", "INFO")
	for _, e := range all {
		generation := "-"
		if e.Generation > 0 {
			generation = strconv.FormatInt(e.Generation, 10)
		}
		t.add(e.Router, s.Icon(entranceStatus(e))+" "+e.Name, strconv.Itoa(int(e.Wanted)), s.weight(e), generation, s.verified(e.Verified), e.Message)
	}
	return t.lines()
}

// entranceStatus is the status whose icon an entrance has.
func entranceStatus(e explain.Entrance) string {
	switch {
	case e.InPlace():
		return "Healthy"
	case e.Message != "":
		return "Error"
	}
	return "Progressing"
}

func (s Style) weight(e explain.Entrance) string {
	text := strconv.Itoa(int(e.Weight))
	if e.Weight != e.Wanted {
		return s.in(Blue, text)
	}
	return s.in(Default, text)
}

func (s Style) verified(v explain.Verified) string {
	switch v {
	case explain.VerifiedYes:
		return s.in(Green, string(v))
	case explain.VerifiedNo:
		return s.in(Red, string(v))
	}
	return s.in(Default, string(v))
}

// headroom warns where stable could not take all back.
func (s Style) headroom(h explain.Headroom) string {
	if h.Weight < h.Of {
		return s.in(Yellow, h.String())
	}
	return h.String()
}

// share warns where the share of real requests cannot be proven.
func (s Style) share(v explain.Share) string {
	switch {
	case v.Proven:
		return s.in(Green, v.String())
	case v.Unproven:
		return s.in(Red, v.String())
	}
	return s.in(Blue, v.String())
}
