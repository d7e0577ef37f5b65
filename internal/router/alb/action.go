package alb

import (
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/internal/router"
)

// The values of the field Type of an action, and the names of its other fields.
const (
	forward        = "forward"
	fieldType      = "Type"
	fieldForward   = "ForwardConfig"
	fieldGroups    = "TargetGroups"
	fieldSticky    = "TargetGroupStickinessConfig"
	fieldGroupARN  = "TargetGroupARN"
	fieldGroupName = "TargetGroupName"
	fieldService   = "ServiceName"
	fieldPort      = "ServicePort"
	fieldWeight    = "Weight"
	fieldEnabled   = "Enabled"
	fieldDuration  = "DurationSeconds"
	fieldRedirect  = "RedirectConfig"
	fieldFixed     = "FixedResponseConfig"

	// unstated is the weight of a group that states none, whole that of a group
	// that gets everything.
	unstated = 1
	whole    = 100
)

// group is one receiver of a forward action. Service is empty for a target group
// that is named by its ARN.
type group struct {
	service, port string
	weight        int32
}

// stickiness is in seconds; 0 is none.
type stickiness int64

// action is what the text of an annotation says.
type action struct {
	// kind is the type in lower case, empty where the text is no action.
	kind   string
	groups []group
}

func parseAction(text string) action {
	top, ok := members(text)
	if !ok {
		return action{}
	}
	kind, _ := get(top, fieldType)
	a := action{kind: strings.ToLower(unquote(kind))}
	if _, byARN := get(top, fieldGroupARN); byARN {
		a.groups = append(a.groups, group{weight: unstated})
	}
	for _, text := range groupTexts(top) {
		fields, ok := members(text)
		if !ok {
			continue
		}
		service, _ := get(fields, fieldService)
		port, _ := get(fields, fieldPort)
		g := group{service: unquote(service), port: unquote(port), weight: unstated}
		if weight, there := get(fields, fieldWeight); there {
			g.weight = router.Weight(unquote(weight), unstated)
		}
		a.groups = append(a.groups, g)
	}
	return a
}

func groupTexts(top []member) []string {
	config, _ := get(top, fieldForward)
	fields, _ := members(config)
	groups, _ := get(fields, fieldGroups)
	return elements(groups)
}

// render writes a forward action to groups. Its own fields come first and in a
// fixed order; fields of old that are of no concern here are kept behind them.
func render(old string, groups []group, sticky stickiness) string {
	top, _ := members(old)
	configText, _ := get(top, fieldForward)
	config, _ := members(configText)
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = object(append([]member{
			{fieldService, quote(g.service)}, {fieldPort, quote(g.port)}, {fieldWeight, strconv.Itoa(int(g.weight))},
		}, without(fieldsOf(groupTexts(top), g.service), fieldService, fieldPort, fieldWeight, fieldGroupARN, fieldGroupName)...))
	}
	forwardConfig := []member{{fieldGroups, "[" + strings.Join(texts, ",") + "]"}}
	if sticky > 0 {
		was, _ := get(config, fieldSticky)
		fields, _ := members(was)
		forwardConfig = append(forwardConfig, member{fieldSticky, object(append([]member{
			{fieldEnabled, "true"}, {fieldDuration, strconv.FormatInt(int64(sticky), 10)},
		}, without(fields, fieldEnabled, fieldDuration)...))})
	}
	forwardConfig = append(forwardConfig, without(config, fieldGroups, fieldSticky)...)
	return object(append([]member{{fieldType, quote(forward)}, {fieldForward, object(forwardConfig)}},
		// What belongs to an action of another type contradicts a forward action.
		without(top, fieldType, fieldForward, fieldGroupARN, fieldRedirect, fieldFixed)...))
}

// fieldsOf are the fields of the first group of a Service.
func fieldsOf(groups []string, service string) []member {
	for _, text := range groups {
		fields, ok := members(text)
		if name, _ := get(fields, fieldService); ok && unquote(name) == service {
			return fields
		}
	}
	return nil
}
