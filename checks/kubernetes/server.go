package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// An API server as kubectl sees it, without admission, authorization and a cluster: it decodes, completes and validates objects by the API
// server's code, keeps them in memory, and says what it knows by the API server's schemas.

var kinds = map[string]schema.GroupVersionKind{
	"namespaces":           {Version: "v1", Kind: "Namespace"},
	"configmaps":           {Version: "v1", Kind: "ConfigMap"},
	"secrets":              {Version: "v1", Kind: "Secret"},
	"services":             {Version: "v1", Kind: "Service"},
	"deployments":          {Group: "apps", Version: "v1", Kind: "Deployment"},
	"ingresses":            {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	"networkpolicies":      {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	"poddisruptionbudgets": {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
}

func pathOf(version schema.GroupVersion) string {
	if version.Group == "" {
		return "api/" + version.Version
	}
	return "apis/" + version.String()
}

func groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	seen := map[string]bool{"": true}
	for _, kind := range kinds {
		if !seen[kind.Group] {
			seen[kind.Group] = true
			version := metav1.GroupVersionForDiscovery{GroupVersion: kind.GroupVersion().String(), Version: kind.Version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: kind.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		}
	}
	return list
}

func resourcesOf(path string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for name, kind := range kinds {
		if pathOf(kind.GroupVersion()) == path {
			list.GroupVersion = kind.GroupVersion().String()
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: name, Kind: kind.Kind, Namespaced: name != "namespaces", Verbs: metav1.Verbs{"create", "get", "patch"},
			})
		}
	}
	return list
}

func schemas() map[string]any {
	paths := map[string]any{}
	for _, kind := range kinds {
		path := pathOf(kind.GroupVersion())
		paths[path] = map[string]string{"serverRelativeURL": "/openapi/v3/" + path}
	}
	return map[string]any{"paths": paths}
}

type request struct {
	kind                      schema.GroupVersionKind
	resource, namespace, name string
}

func (r request) key(name string) string {
	return strings.Join([]string{r.resource, r.namespace, name}, "/")
}

func (r request) notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: r.kind.Group, Resource: r.resource}, name)
}

var (
	lock   sync.Mutex
	stored = map[string][]byte{}
)

// What was sent, in the form in which it is stored: as the versioned object with all defaults.
func taken(r request, media string, text []byte) (string, []byte, error) {
	object, err := decode(media, text)
	if err != nil {
		return "", nil, apierrors.NewBadRequest(err.Error())
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", nil, err
	}
	if r.namespace != "" {
		if _, ok := stored["namespaces//"+r.namespace]; !ok {
			return "", nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, r.namespace)
		}
		accessor.SetNamespace(r.namespace)
	}
	if list := problems(object); len(list) > 0 {
		return "", nil, apierrors.NewInvalid(r.kind.GroupKind(), accessor.GetName(), list)
	}
	encoded, err := runtime.Encode(legacyscheme.Codecs.LegacyCodec(r.kind.GroupVersion()), object)
	return accessor.GetName(), encoded, err
}

func answer(r request, method, media string, body []byte) ([]byte, error) {
	lock.Lock()
	defer lock.Unlock()
	before, ok := stored[r.key(r.name)]
	switch {
	case method == http.MethodPost:
	case !ok:
		return nil, r.notFound(r.name)
	case method == http.MethodGet:
		return before, nil
	case method == http.MethodPatch:
		versioned, err := legacyscheme.Scheme.New(r.kind)
		if err != nil {
			return nil, err
		}
		if body, err = strategicpatch.StrategicMergePatch(before, body, versioned); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		media = runtime.ContentTypeJSON
	default:
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: r.resource}, method)
	}
	name, encoded, err := taken(r, media, body)
	if err != nil {
		return nil, err
	}
	if _, ok := stored[r.key(name)]; ok && method == http.MethodPost {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Group: r.kind.Group, Resource: r.resource}, name)
	}
	stored[r.key(name)] = encoded
	return encoded, nil
}

var object = regexp.MustCompile(`^/(api/v1|apis/[^/]+/v1)(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?$`)

func serve(address, directory string) error {
	send := func(response http.ResponseWriter, status int, value any) {
		text, ok := value.([]byte)
		if !ok {
			var err error
			if text, err = json.Marshal(value); err != nil {
				http.Error(response, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		response.Header().Set("Content-Type", "application/json")
		response.WriteHeader(status)
		response.Write(text)
	}
	return http.ListenAndServe(address, http.HandlerFunc(func(response http.ResponseWriter, asked *http.Request) {
		path := asked.URL.Path
		match := object.FindStringSubmatch(path)
		switch {
		case path == "/api":
			send(response, http.StatusOK, metav1.APIVersions{Versions: []string{"v1"}})
		case path == "/apis":
			send(response, http.StatusOK, groups())
		case path == "/openapi/v3":
			send(response, http.StatusOK, schemas())
		case strings.HasPrefix(path, "/openapi/v3/"):
			name := strings.ReplaceAll(strings.TrimPrefix(path, "/openapi/v3/"), "/", "__") + "_openapi.json"
			text, err := os.ReadFile(filepath.Join(directory, name))
			if err != nil {
				http.Error(response, err.Error(), http.StatusNotFound)
				return
			}
			send(response, http.StatusOK, text)
		case match == nil:
			send(response, http.StatusOK, resourcesOf(strings.TrimPrefix(path, "/")))
		default:
			kind, ok := kinds[match[3]]
			if !ok || pathOf(kind.GroupVersion()) != match[1] {
				http.NotFound(response, asked)
				return
			}
			body, err := io.ReadAll(asked.Body)
			if err == nil {
				body, err = answer(request{kind, match[3], match[2], match[4]}, asked.Method, asked.Header.Get("Content-Type"), body)
			}
			var status apierrors.APIStatus
			switch {
			case err == nil && asked.Method == http.MethodPost:
				send(response, http.StatusCreated, body)
			case err == nil:
				send(response, http.StatusOK, body)
			case errors.As(err, &status):
				told := status.Status()
				told.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
				send(response, int(told.Code), told)
			default:
				http.Error(response, err.Error(), http.StatusInternalServerError)
			}
		}
	}))
}
