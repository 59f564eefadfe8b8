// Checks manifests by the validation of Kubernetes' API server: defaults and rules between fields, which schemas lack. With
// "serve ADDRESS SCHEMAS" it takes what kubectl sends, by the same code: see server.go.
package main

import (
	"fmt"
	"os"
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
)

// A field that the API server does not know is an error, as it is for kubectl.
var codecs = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

func decode(media string, text []byte) (runtime.Object, error) {
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	if !ok {
		return nil, fmt.Errorf("no serializer for %s", media)
	}
	return runtime.Decode(codecs.DecoderToVersion(info.StrictSerializer, runtime.InternalGroupVersioner), text)
}

func problems(object runtime.Object) field.ErrorList {
	switch object := object.(type) {
	case *core.Namespace:
		return corevalidation.ValidateNamespace(object)
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(object, corevalidation.PodValidationOptions{})
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(object)
	case *core.Secret:
		return corevalidation.ValidateSecret(object)
	case *core.Service:
		return corevalidation.ValidateServiceCreate(object)
	case *networking.Ingress:
		return networkingvalidation.ValidateIngressCreate(object)
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(object, networkingvalidation.NetworkPolicyValidationOptions{})
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(object, policyvalidation.PodDisruptionBudgetValidationOptions{})
	default:
		return field.ErrorList{field.NotSupported(field.NewPath("kind"), fmt.Sprintf("%T", object), []string{})}
	}
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		fmt.Println(serve(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	failed := false
	separator := regexp.MustCompile(`(?m)^---$`)
	for _, file := range os.Args[1:] {
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for _, document := range separator.Split(string(text), -1) {
			object, err := decode(runtime.ContentTypeYAML, []byte(document))
			if err != nil {
				fmt.Printf("%s: %v\n", file, err)
				failed = true
				continue
			}
			if accessor, err := meta.Accessor(object); err == nil {
				accessor.SetNamespace("routes")
			}
			for _, problem := range problems(object) {
				fmt.Printf("%s: %v\n", file, problem)
				failed = true
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}
