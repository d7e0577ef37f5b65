package verdict

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/expr-lang/expr/file"
)

// maxShown is how much of a condition, and of a value, a message shows, in bytes.
const maxShown = 200

// truth is what a condition says of a sample.
type truth uint8

const (
	no truth = iota
	yes
	// unknown is said where there is no data to say more of.
	unknown
	broken
)

// saying is what a condition says, and why it cannot say more.
type saying struct {
	truth truth
	// lacks is the kind of data that was missing, for unknown.
	lacks aspect
	why   string
}

// Judge says what the conditions make of a sample; nil is a condition that is not
// set. It never panics, and it is bounded for any condition and value.
//
// First each condition says yes, no, unknown or broken:
//
//	value    the condition           it says
//	data     yields true or false    yes or no; unknown if that hangs on a comparison
//	                                 with NaN for which it does not ask
//	data     compares an empty list  unknown
//	data     fails                   broken
//	no data  asks for this kind      what it yields; unknown if it fails
//	no data  does not ask            unknown, whatever it would yield
//
// Then they are put together:
//
//	success   failure   judgement
//	-         -         Success with data, NoData without
//	yes       -         Success
//	no        -         Failure
//	unknown   -         NoData
//	-         yes       Failure
//	-         no        Success
//	-         unknown   NoData
//	broken    any       Error
//	any       broken    Error
//	any       yes       Failure
//	yes       no        Success
//	no        no        Inconclusive
//	unknown   no        NoData
//	yes       unknown   Success if the success condition asks for the kind of data
//	                    that the other one lacks, otherwise NoData
//	no        unknown   NoData
//	unknown   unknown   NoData
func Judge(success, failure *Condition, s Sample) Judgement {
	kind, why := emptiness(s.Value, 0)
	if success == nil && failure == nil {
		if kind != 0 {
			return Judgement{NoData, why}
		}
		return Judgement{Kind: Success}
	}
	good, bad := success.say(s, kind, why), failure.say(s, kind, why)
	shown := func() string { return shownValue(s) }
	switch {
	case success != nil && good.truth == broken:
		return Judgement{Error, fmt.Sprintf("successCondition %s: %s (value %s)", success.quoted(), good.why, shown())}
	case failure != nil && bad.truth == broken:
		return Judgement{Error, fmt.Sprintf("failureCondition %s: %s (value %s)", failure.quoted(), bad.why, shown())}
	case failure != nil && bad.truth == yes:
		return Judgement{Failure, fmt.Sprintf("value %s: failureCondition %s is true", shown(), failure.quoted())}
	case success == nil:
		return alone(failure, bad, Judgement{Kind: Success}, shown)
	case failure == nil:
		return alone(success, good, Judgement{Failure, fmt.Sprintf("value %s: successCondition %s is false", shown(), success.quoted())}, shown)
	case good.truth == yes && (bad.truth == no || success.asksFor(bad.lacks)):
		return Judgement{Kind: Success}
	case bad.truth == unknown:
		return lacking(failure, bad, shown)
	case good.truth == unknown:
		return lacking(success, good, shown)
	}
	return Judgement{Inconclusive, fmt.Sprintf("value %s: neither successCondition %s nor failureCondition %s is true", shown(), success.quoted(), failure.quoted())}
}

// alone judges by one condition that is not broken, a failure condition not being
// true.
func alone(c *Condition, said saying, otherwise Judgement, shown func() string) Judgement {
	switch said.truth {
	case unknown:
		return lacking(c, said, shown)
	case yes:
		return Judgement{Kind: Success}
	}
	return otherwise
}

// lacking is the judgement where there is no data, with what the condition could
// ask to decide by itself.
func lacking(c *Condition, said saying, shown func() string) Judgement {
	message := fmt.Sprintf("%s (value %s, condition %s", said.why, shown(), c.quoted())
	if ask := (said.lacks &^ c.asks).question(); ask != "" {
		message += ", which does not ask " + ask
	}
	return Judgement{NoData, message + ")"}
}

// asksFor says whether the condition asks for each of these kinds.
func (c *Condition) asksFor(kinds aspect) bool { return kinds&^c.asks == 0 }

// quoted is the condition on one line, cut.
func (c *Condition) quoted() string { return quoted(c.text) }

func quoted(s string) string { return `"` + oneLine(s) + `"` }

// oneLine is a text without line breaks and control characters, cut.
func oneLine(s string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(cut(s, 2*maxShown), "\uFFFD"))
	return cut(strings.Join(strings.Fields(printable), " "), maxShown)
}

// shownValue is the value in a message.
func shownValue(s Sample) string {
	if s.Text != "" {
		return oneLine(s.Text)
	}
	if text, ok := s.Value.(string); ok {
		return quoted(text)
	}
	return oneLine(Text(s.Value))
}

// say evaluates the condition on a sample that lacks data in the given way. A
// condition that is not set says no.
func (c *Condition) say(s Sample, lacks aspect, why string) saying {
	if c == nil {
		return saying{}
	}
	if lacks != 0 && !c.asksFor(lacks) {
		return saying{truth: unknown, lacks: lacks, why: why}
	}
	said := c.tell(s.Value, s.At)
	if lacks != 0 && (said.truth == broken || said.truth == unknown) {
		return saying{truth: unknown, lacks: lacks, why: why + ", and the condition fails on it: " + said.why}
	}
	return said
}

// tell evaluates the condition, and once more with comparisons with NaN turned
// around if there were any: only what is the same both times is said.
func (c *Condition) tell(value any, at time.Time) saying {
	m := newMeter()
	first, err := c.run(value, at, m)
	if err == nil && m.met == 0 {
		return saying{truth: truthOf(first)}
	}
	var gone *missing
	if errors.As(err, &gone) {
		return saying{truth: unknown, lacks: gone.kind, why: gone.what}
	}
	if err != nil {
		return saying{truth: broken, why: plain(err)}
	}
	m = newMeter()
	m.opposite = true
	if second, err := c.run(value, at, m); err == nil && second == first {
		return saying{truth: truthOf(first)}
	}
	return saying{truth: unknown, lacks: asksNaN, why: "a comparison with NaN decides nothing"}
}

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// plain is an error of an evaluation on one line, without the compiler's picture
// of the place.
func plain(err error) string {
	message := err.Error()
	var at *file.Error
	if errors.As(err, &at) {
		message = at.Message
	}
	message, _, _ = strings.Cut(message, "\n")
	switch {
	case strings.Contains(message, "memory budget exceeded"):
		message = errCost.Error()
	case strings.Contains(message, "integer divide by zero"):
		message = "a whole number is divided by zero"
	case strings.HasPrefix(message, "interface conversion: "):
		message = "a value has another type than is needed: " + strings.ReplaceAll(strings.TrimPrefix(message, "interface conversion: "), "interface {}", "the value")
	}
	return cut(strings.ToValidUTF8(message, "\uFFFD"), maxShown)
}
